-- Questions as Qrlew's tests ask them: nested queries, CTEs, joins of a person's tables, expressions of all kinds.

-- name: sum_in_cte
-- world: furniture
WITH t AS (SELECT x + y AS s, z FROM measurements) SELECT z, SUM(s) AS total FROM t GROUP BY z ORDER BY z;

-- name: cte_with_column_names
-- world: furniture
WITH t(kind, value) AS (SELECT z, x * 2 FROM measurements WHERE y > 0) SELECT kind, AVG(value) AS mean FROM t GROUP BY kind ORDER BY kind;

-- name: price_per_user_city
-- world: furniture
SELECT u.city, SUM(i.price) AS spent FROM users u JOIN orders o ON u.id = o.user_id JOIN items i ON o.order_id = i.order_id GROUP BY u.city ORDER BY u.city;

-- name: users_left_join_orders
-- world: furniture
SELECT COUNT(*) AS without_orders FROM users AS u LEFT JOIN orders AS o ON u.id = o.user_id WHERE o.order_id IS NULL;

-- name: sum_of_case
-- world: furniture
SELECT SUM(CASE WHEN x > 5 THEN 1 ELSE 0 END) AS high, SUM(CASE WHEN x <= 5 THEN y ELSE 0 END) AS low_y FROM measurements;

-- name: distinct_sums
-- world: furniture
SELECT COUNT(DISTINCT d) AS different, SUM(DISTINCT d) AS total FROM measurements;

-- name: variance_by_colour
-- world: furniture
SELECT z, VARIANCE(x) AS v, STDDEV(y) AS s FROM measurements WHERE d <> 3 GROUP BY z ORDER BY z;

-- name: aggregates_of_aggregates
-- world: furniture
WITH counts AS (SELECT d, COUNT(*) AS n FROM measurements GROUP BY d) SELECT AVG(n) AS mean_n, MAX(n) AS max_n FROM counts;

-- name: joined_ctes_of_released_groups
-- world: furniture
WITH a AS (SELECT z, COUNT(*) AS n FROM measurements GROUP BY z), b AS (SELECT z, AVG(x) AS m FROM measurements WHERE y < 2 GROUP BY z)
SELECT a.z, a.n, b.m FROM a JOIN b ON a.z = b.z ORDER BY a.z;

-- name: distinct_groups
-- world: furniture
SELECT DISTINCT z FROM measurements ORDER BY z;

-- name: group_only
-- world: furniture
SELECT city FROM users GROUP BY city ORDER BY city;

-- name: bounded_by_where
-- world: furniture
SELECT SUM(income) AS s, COUNT(*) AS n FROM users WHERE income > 1500 AND income < 3500;

-- name: functions_of_numbers
-- world: furniture
SELECT SUM(EXP(x / 10)) AS e, SUM(SQRT(x)) AS r, AVG(ABS(y)) AS a, SUM(x * y) AS xy FROM measurements;

-- name: text_functions
-- world: furniture
SELECT UPPER(SUBSTRING(city, 1, 1)) AS letter, COUNT(*) AS n FROM users GROUP BY UPPER(SUBSTRING(city, 1, 1)) ORDER BY letter;

-- name: orders_per_month
-- world: furniture
SELECT EXTRACT(MONTH FROM date) AS month, COUNT(*) AS n FROM orders GROUP BY EXTRACT(MONTH FROM date) ORDER BY month;

-- name: mean_of_per_user_totals
-- world: furniture
SELECT AVG(total) AS mean_total FROM (SELECT o.user_id, SUM(i.quantity) AS total FROM orders o JOIN items i ON i.order_id = o.order_id GROUP BY o.user_id) AS t;

-- name: in_list_and_public_schema
-- world: furniture
-- plain: SELECT item, SUM(quantity) AS sold FROM items WHERE item IN ('table', 'chair', 'lamp') GROUP BY item ORDER BY item
SELECT item, SUM(quantity) AS sold FROM public.items WHERE item IN ('table', 'chair', 'lamp') GROUP BY item ORDER BY item;

-- name: single_values
-- world: furniture
-- refused: single rows
SELECT name, income FROM users WHERE city = 'Paris';

-- name: order_and_offset_of_rows
-- world: furniture
-- refused: single rows
SELECT x, y FROM measurements ORDER BY x LIMIT 10 OFFSET 5;

-- name: weight_sold_through_catalogue
-- world: furniture
SELECT c.category, SUM(c.weight * i.quantity) AS moved FROM items i INNER JOIN catalogue c ON i.item = c.item GROUP BY c.category HAVING SUM(c.weight * i.quantity) > 0 ORDER BY c.category;

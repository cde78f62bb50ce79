-- Questions as the documents of GoogleSQL ask them: the clause WITH DIFFERENTIAL_PRIVACY, bounds as named arguments, ANON_* functions.
-- Epsilons are as large as those documents use to show answers without noise.

-- name: average_per_item
-- world: stationery
-- plain: SELECT item, AVG(quantity) AS average_quantity FROM professors GROUP BY item ORDER BY item
SELECT
  WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 5)
  item, AVG(quantity, contribution_bounds_per_group => (0, 100)) AS average_quantity
FROM professors
GROUP BY item
ORDER BY item;

-- name: sum_clamped_per_person
-- world: stationery
-- plain: SELECT shop, SUM(s) AS total FROM (SELECT user_id, shop, GREATEST(LEAST(SUM(amount), 250), 0) AS s FROM purchases GROUP BY user_id, shop) GROUP BY shop ORDER BY shop
SELECT
  WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, privacy_unit_column = user_id)
  shop, SUM(amount, contribution_bounds_per_group => (0, 250)) AS total
FROM purchases
GROUP BY shop
ORDER BY shop;

-- name: count_clamped_per_person
-- world: stationery
-- plain: SELECT shop, SUM(n) AS rows_counted FROM (SELECT user_id, shop, LEAST(COUNT(*), 2) AS n FROM purchases GROUP BY user_id, shop) GROUP BY shop ORDER BY shop
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01)
  shop, COUNT(*, contribution_bounds_per_group => (0, 2)) AS rows_counted
FROM purchases
GROUP BY shop
ORDER BY shop;

-- name: count_expression
-- world: stationery
-- plain: SELECT item, COUNT(quantity) AS times FROM professors GROUP BY item ORDER BY item
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 5)
  item, COUNT(quantity, contribution_bounds_per_group => (0, 10)) AS times
FROM professors
GROUP BY item
ORDER BY item;

-- name: median_by_percentile_cont
-- world: stationery
-- plain: SELECT item, QUANTILE_CONT(quantity, 0.5) AS middle FROM professors GROUP BY item ORDER BY item
-- close: 0.06
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 5)
  item, PERCENTILE_CONT(quantity, 0.5, contribution_bounds_per_row => (0, 100)) AS middle
FROM professors
GROUP BY item
ORDER BY item;

-- name: max_groups
-- world: stationery
-- plain: SELECT item, SUM(quantity) AS taken FROM students GROUP BY item ORDER BY item
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 4, privacy_unit_column = id)
  item, SUM(quantity) AS taken
FROM students
GROUP BY item
ORDER BY item;

-- name: laplace_threshold_named
-- world: stationery
-- plain: SELECT item, COUNT(*) AS n FROM professors GROUP BY item ORDER BY item
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 5, group_selection_strategy = LAPLACE_THRESHOLD)
  item, COUNT(*) AS n
FROM professors
GROUP BY item
ORDER BY item;

-- name: public_groups
-- world: stationery
-- plain: SELECT item, COUNT(*) AS n FROM students WHERE item IN ('pencil', 'pen', 'eraser', 'notebook') GROUP BY item ORDER BY item
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 4, privacy_unit_column = id, group_selection_strategy = PUBLIC_GROUPS)
  students.item, COUNT(*) AS n
FROM students
RIGHT OUTER JOIN (SELECT DISTINCT item FROM UNNEST(['pencil', 'pen', 'eraser', 'notebook']) AS item) AS wanted ON students.item = wanted.item
GROUP BY students.item
ORDER BY students.item;

-- name: anonymization_clause
-- world: stationery
-- plain: SELECT item, SUM(quantity) AS total FROM professors GROUP BY item ORDER BY item
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1e20, delta = .01, kappa = 5)
  item, ANON_SUM(quantity CLAMPED BETWEEN 0 AND 100) AS total
FROM professors
GROUP BY item
ORDER BY item;

-- name: anon_average
-- world: stationery
-- plain: SELECT item, AVG(quantity) AS mean FROM professors GROUP BY item ORDER BY item
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 5)
  item, ANON_AVG(quantity CLAMPED BETWEEN 0 AND 100) AS mean
FROM professors
GROUP BY item
ORDER BY item;

-- name: anon_count
-- world: stationery
-- plain: SELECT item, COUNT(*) AS n FROM professors GROUP BY item ORDER BY item
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 5)
  item, ANON_COUNT(* CLAMPED BETWEEN 0 AND 10) AS n
FROM professors
GROUP BY item
ORDER BY item;

-- name: anon_quantity_bounds_inside
-- world: stationery
-- plain: SELECT item, SUM(s) AS total FROM (SELECT id, item, GREATEST(5, LEAST(SUM(quantity), 20)) AS s FROM students GROUP BY id, item) GROUP BY item ORDER BY item
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 4)
  item, ANON_SUM(quantity CLAMPED BETWEEN 5 AND 20) AS total
FROM students
GROUP BY item
ORDER BY item;

-- name: backquoted_table
-- world: stationery
-- plain: SELECT shop, COUNT(*) AS n FROM dataset.purchases GROUP BY shop ORDER BY shop
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, privacy_unit_column = user_id)
  shop, COUNT(*) AS n
FROM `dataset.purchases`
GROUP BY shop
ORDER BY shop;

-- name: count_of_people
-- world: stationery
-- plain: SELECT shop, COUNT(DISTINCT user_id) AS people FROM purchases GROUP BY shop ORDER BY shop
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, privacy_unit_column = user_id)
  shop, COUNT(DISTINCT user_id, contribution_bounds_per_group => (0, 1)) AS people
FROM purchases
GROUP BY shop
ORDER BY shop;

-- name: busiest_hours
-- world: stationery
-- plain: SELECT EXTRACT(HOUR FROM bought_at) AS hour, COUNT(*) AS n FROM purchases GROUP BY 1 ORDER BY 1
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 24, privacy_unit_column = user_id)
  EXTRACT(HOUR FROM bought_at) AS hour, COUNT(*) AS n
FROM purchases
GROUP BY hour
ORDER BY hour;

-- name: sum_in_wide_bounds_of_two_measures
-- world: stationery
-- plain: SELECT shop, SUM(amount) AS total, COUNT(*) AS n FROM purchases GROUP BY shop ORDER BY shop
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 3, privacy_unit_column = user_id)
  shop, SUM(amount, contribution_bounds_per_group => (-5000, 5000)) AS total, COUNT(*, contribution_bounds_per_group => (0, 100)) AS n
FROM dataset.purchases
GROUP BY shop
ORDER BY shop;

-- name: variance_of_items
-- world: stationery
-- plain: SELECT item, VAR_POP(quantity) AS spread FROM professors GROUP BY item ORDER BY item
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, max_groups_contributed = 5, privacy_unit_column = id)
  item, VAR_POP(quantity, contribution_bounds_per_row => (0, 100)) AS spread
FROM professors
GROUP BY item
ORDER BY item;

-- name: wanted_in_cte
-- world: stationery
-- plain: SELECT item, COUNT(*) AS n FROM (SELECT item FROM students WHERE quantity > 5) GROUP BY item ORDER BY item
WITH wanted AS (SELECT id, item, quantity FROM students WHERE quantity > 5)
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e20, delta = .01, privacy_unit_column = id)
  item, COUNT(*) AS n
FROM wanted
GROUP BY item
ORDER BY item;

-- name: raw_values
-- world: stationery
-- refused: single rows
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01) item, quantity FROM professors;

-- name: other_unit
-- world: stationery
-- refused: privacy_unit_column
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = item) COUNT(*) AS n FROM students;

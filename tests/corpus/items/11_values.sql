-- Item 11: comparisons between kinds, bounds from WHERE, SUM(DISTINCT x), HAVING on an alias, GROUP BY a constant, parameters.

-- name: boolean_beside_one
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE urgent = 1;

-- name: boolean_beside_zero
-- world: clinic
SELECT ward, COUNT(*) AS n FROM visits WHERE urgent = 0 GROUP BY ward;

-- name: boolean_beside_text
-- world: clinic
SELECT COUNT(*) AS n FROM patients WHERE smoker = 'true';

-- name: boolean_beside_a_constant
-- world: clinic
SELECT COUNT(*) AS n FROM patients WHERE smoker <> FALSE;

-- name: number_as_a_condition
-- world: clinic
SELECT COUNT(*) AS n FROM bills WHERE paid = TRUE;

-- name: number_beside_text
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE nights = '3';

-- name: number_between_texts
-- world: clinic
SELECT sex, COUNT(*) AS n FROM patients WHERE birth_year BETWEEN '1950' AND '1959' GROUP BY sex;

-- name: number_in_texts
-- world: clinic
SELECT COUNT(*) AS n FROM prescriptions WHERE drug_id IN ('1', '4', '7');

-- name: text_beside_a_number
-- world: clinic
SELECT COUNT(*) AS n FROM bills WHERE code = 2;

-- name: text_in_numbers
-- world: clinic
SELECT code, SUM(amount) AS amount FROM bills WHERE code IN (1, 3) GROUP BY code;

-- name: date_beside_text
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE day >= '2023-01-01' AND arrived < '2024-01-01 12:00:00';

-- name: whole_number_beside_a_decimal
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE nights > 4.5 AND cost = 100;

-- name: sum_of_booleans
-- world: clinic
SELECT SUM(urgent) AS n FROM visits;

-- name: mean_of_booleans
-- world: clinic
-- plain: SELECT ward, AVG(CAST(urgent AS INTEGER)) AS share FROM visits WHERE ward <> 'E' GROUP BY ward
SELECT ward, AVG(urgent) AS share FROM visits WHERE ward <> 'E' GROUP BY ward;

-- name: sum_of_a_comparison
-- world: clinic
SELECT SUM(nights > 5) AS n FROM visits;

-- name: bounds_from_where
-- world: clinic
SELECT SUM(value) AS total FROM readings WHERE value > 10 AND value < 50;

-- name: bounds_from_between
-- world: clinic
SELECT test, AVG(value) AS mean, COUNT(*) AS n FROM readings WHERE value BETWEEN 0 AND 100 GROUP BY test;

-- name: whole_bounds_from_where
-- world: clinic
SELECT SUM(score) AS total FROM readings WHERE score >= 0 AND score <= 99;

-- name: bounds_from_where_on_both_sides
-- world: clinic
SELECT test, SUM(r.score) AS s FROM readings AS r WHERE 20 <= r.score AND 60 > r.score AND test <> 'iron' GROUP BY test;

-- name: bounds_from_in
-- world: clinic
SELECT SUM(score) AS s FROM readings WHERE score IN (10, 20, 30, 40);

-- name: bounds_from_equality
-- world: clinic
SELECT SUM(score) AS s, COUNT(*) AS n FROM readings WHERE score = 17;

-- name: bounds_in_a_sub_query
-- world: clinic
SELECT test, AVG(v) AS v FROM (SELECT test, value AS v FROM readings WHERE value >= -10 AND value <= 90) t GROUP BY test;

-- name: bounds_in_an_expression
-- world: clinic
SELECT SUM(value * 2 + 1) AS s FROM readings WHERE value BETWEEN 5 AND 25;

-- name: bounds_in_a_filter
-- world: clinic
SELECT SUM(value) FILTER (WHERE value BETWEEN 0 AND 60) AS s FROM readings;

-- name: bounds_in_a_case
-- world: clinic
SELECT SUM(CASE WHEN value > 0 AND value < 80 THEN value ELSE 0 END) AS s FROM readings;

-- name: spread_with_bounds_from_where
-- world: clinic
SELECT STDDEV_POP(value) AS s FROM readings WHERE value > 0 AND value < 40;

-- name: median_with_bounds_from_where
-- world: clinic
-- close: 0.05
SELECT MEDIAN(value) AS m FROM readings WHERE value BETWEEN 0 AND 100;

-- name: bounds_from_where_narrower_than_declared
-- world: clinic
SELECT ward, SUM(cost) AS cost FROM visits WHERE cost < 200 GROUP BY ward;

-- name: bounds_under_or
-- world: clinic
-- refused: request
SELECT SUM(value) FROM readings WHERE value > 10 OR test = 'iron';

-- name: one_bound_only
-- world: clinic
-- refused: request
SELECT SUM(value) FROM readings WHERE value > 10;

-- name: sum_distinct
-- world: clinic
SELECT SUM(DISTINCT nights) AS s FROM visits;

-- name: sum_distinct_by_group
-- world: clinic
SELECT urgent, SUM(DISTINCT amount) AS s FROM bills b JOIN visits v ON v.patient_id = b.patient_id AND v.visit_id = b.visit_id GROUP BY urgent;

-- name: sum_distinct_of_an_expression
-- world: clinic
SELECT SUM(DISTINCT birth_year - 1900) AS s, COUNT(DISTINCT birth_year) AS n FROM patients WHERE sex = 'M';

-- name: having_on_an_alias
-- world: clinic
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 300;

-- name: having_on_two_aliases
-- world: clinic
SELECT city, COUNT(*) AS people, AVG(weight) AS w FROM patients GROUP BY city HAVING people > 50 AND w BETWEEN 0 AND 200 ORDER BY people DESC, city;

-- name: group_by_the_place_of_a_constant
-- world: clinic
SELECT 1 AS one, COUNT(*) AS n FROM visits GROUP BY 1;

-- name: group_by_a_constant_text_and_a_column
-- world: clinic
SELECT 'all wards' AS label, sex, COUNT(*) AS n FROM patients GROUP BY 1, 2 ORDER BY 2;

-- name: question_mark
-- world: clinic
-- params: {"1": 5}
SELECT COUNT(*) AS n FROM visits WHERE nights > ?;

-- name: question_marks
-- world: clinic
-- params: {"1": "A", "2": 3}
SELECT COUNT(*) AS n FROM visits WHERE ward = ? AND nights >= ?;

-- name: numbered_parameter
-- world: clinic
-- params: {"1": 1960, "2": "F"}
SELECT city, COUNT(*) AS n FROM patients WHERE birth_year < $1 AND sex = $2 GROUP BY city;

-- name: numbered_parameter_twice
-- world: clinic
-- params: {"1": 4}
SELECT SUM(nights) AS s FROM visits WHERE nights > $1 OR nights = 12 - $1;

-- name: named_parameters
-- world: clinic
-- params: {"ward": "B", "least": 100.5}
SELECT COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE ward = :ward AND cost >= :least;

-- name: named_parameter_with_a_date
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE day >= CAST($since AS DATE)
-- params: {"since": "2023-06-01"}
SELECT COUNT(*) AS n FROM visits WHERE day >= :since;

-- name: parameter_that_is_no_sql
-- world: clinic
-- params: {"1": "A' OR '1' = '1"}
SELECT COUNT(*) AS n FROM visits WHERE ward = $1;

-- name: boolean_is_not_true
-- world: bikes
SELECT tariff, COUNT(*) AS n FROM riders WHERE member IS NOT TRUE GROUP BY tariff;

-- name: boolean_in_texts
-- world: bikes
SELECT COUNT(*) AS n FROM riders WHERE member = 'false';

-- name: date_between_texts_with_times
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE started BETWEEN '2023-02-01' AND '2023-02-28 23:59:59';

-- name: timestamp_beside_a_date
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE started >= DATE '2023-10-01' AND CAST(started AS DATE) <> '2023-10-03';

-- name: text_with_a_decimal_beside_a_number
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE km >= '7.5' AND price < '10';

-- name: case_of_mixed_numbers
-- world: bikes
SELECT AVG(CASE WHEN km > 10 THEN 1.5 ELSE 1 END) AS w, SUM(CASE WHEN member THEN 1 ELSE 0 END) AS m FROM trips JOIN riders USING (rider_id);

-- name: having_on_an_alias_of_a_mean
-- world: bikes
SELECT from_station AS station, AVG(price) AS mean_price FROM trips GROUP BY station HAVING mean_price > 7.4 ORDER BY station;

-- name: where_on_an_alias
-- world: bikes
SELECT MONTH(started) AS m, COUNT(*) AS n FROM trips WHERE m > 6 GROUP BY m ORDER BY m;

-- name: bounds_of_two_columns
-- world: clinic
SELECT SUM(value) AS v, SUM(score) AS s FROM readings WHERE value BETWEEN 0 AND 50 AND score BETWEEN 0 AND 50;

-- name: bounds_of_a_column_of_a_join
-- world: clinic
SELECT p.sex, AVG(r.value) AS v FROM patients p JOIN readings r ON r.patient_id = p.patient_id WHERE r.value > 0 AND r.value < 100 GROUP BY p.sex;

-- name: bounds_in_a_cte
-- world: clinic
WITH ok AS (SELECT * FROM readings WHERE score > 0 AND score < 100) SELECT test, SUM(score) AS s, COUNT(*) AS n FROM ok GROUP BY test;

-- name: bounds_with_not
-- world: clinic
SELECT SUM(value) AS v FROM readings WHERE NOT (value < 0 OR value > 75);

-- name: group_by_a_constant_alone
-- world: bikes
SELECT 'total' AS label, SUM(price) AS price FROM trips GROUP BY label;

-- name: parameters_in_a_list
-- world: bikes
-- params: {"1": "day", "2": "year"}
SELECT tariff, COUNT(*) AS n FROM riders WHERE tariff IN (?, ?) GROUP BY tariff;

-- name: parameters_as_bounds
-- world: clinic
-- params: {"low": 0, "high": 80}
SELECT AVG(value) AS v FROM readings WHERE value BETWEEN :low AND :high;

-- name: parameter_in_the_select_list
-- world: bikes
-- params: {"1": 2.5}
SELECT SUM(price * $1) AS scaled FROM trips;

-- name: where_narrows_a_declared_sum
-- world: clinic
-- like: SELECT SUM(LEAST(cost, 120)) AS s FROM visits
SELECT SUM(cost) AS s FROM visits WHERE cost < 120;

-- name: where_narrows_a_declared_mean
-- world: clinic
SELECT ward, AVG(nights) AS m FROM visits WHERE nights BETWEEN 2 AND 4 AND ward <> 'E' GROUP BY ward;

-- name: filter_narrows_a_declared_sum
-- world: clinic
-- like: SELECT SUM(LEAST(amount, 50)) AS s FROM bills
SELECT SUM(amount) FILTER (WHERE amount <= 50) AS s FROM bills;

-- name: case_narrows_a_declared_sum
-- world: clinic
-- like: SELECT SUM(LEAST(amount, 50)) AS s FROM bills
SELECT SUM(CASE WHEN amount <= 50 THEN amount ELSE 0 END) AS s FROM bills;

-- name: where_narrows_an_expression
-- world: clinic
-- like: SELECT SUM(LEAST(nights * 2 + 1, 9)) AS s FROM visits
SELECT SUM(nights * 2 + 1) AS s FROM visits WHERE nights <= 4;

-- name: where_of_a_sub_query_narrows
-- world: clinic
-- like: SELECT SUM(LEAST(nights, 3)) AS s FROM visits
SELECT SUM(n) AS s FROM (SELECT nights AS n, ward FROM visits WHERE nights IN (1, 2, 3)) AS short;

-- name: where_narrows_a_quantile
-- world: clinic
-- close: 0.05
SELECT MEDIAN(cost) AS m FROM visits WHERE cost BETWEEN 100 AND 300;

-- name: where_of_another_table_narrows_nothing
-- world: clinic
SELECT SUM(b.amount) AS s FROM bills b JOIN visits v ON v.visit_id = b.visit_id WHERE v.cost < 100;

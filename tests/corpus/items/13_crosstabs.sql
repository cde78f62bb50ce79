-- Item 13: cross-tabs: PIVOT in both of its forms, CROSSTAB, cases, and totals that agree.

-- name: pivot_statement
-- world: clinic
PIVOT patients ON sex USING COUNT(*) GROUP BY city;

-- name: pivot_statement_with_a_list
-- world: clinic
-- plain: SELECT urgent, COUNT(*) FILTER (WHERE ward = 'A') AS A, COUNT(*) FILTER (WHERE ward = 'B') AS B FROM visits GROUP BY urgent
PIVOT visits ON ward IN ('A', 'B') USING COUNT(*) GROUP BY urgent;

-- name: pivot_statement_with_a_sum
-- world: clinic
-- plain: SELECT ward, COALESCE("false", 0) AS "false", COALESCE("true", 0) AS "true"
--   FROM (PIVOT visits ON urgent USING SUM(nights) GROUP BY ward) ORDER BY ward
PIVOT visits ON urgent USING SUM(nights) GROUP BY ward ORDER BY ward;

-- name: pivot_statement_of_a_sub_query
-- world: clinic
PIVOT (SELECT sex, smoker FROM patients WHERE birth_year > 1980) ON sex IN ('F', 'M') USING COUNT(*) GROUP BY smoker;

-- name: pivot_in_from
-- world: clinic
SELECT * FROM (SELECT sex, city FROM patients WHERE city IS NOT NULL) PIVOT (COUNT(*) FOR sex IN ('F', 'M')) AS p ORDER BY city;

-- name: pivot_in_from_with_aliases
-- world: clinic
SELECT city, women, men FROM (SELECT sex, city, birth_year FROM patients) AS s
PIVOT (AVG(birth_year) FOR sex IN ('F' AS women, 'M' AS men)) AS p
ORDER BY city;

-- name: pivot_in_from_without_groups
-- world: clinic
SELECT * FROM (SELECT ward, nights FROM visits) AS v PIVOT (SUM(nights) FOR ward IN ('A', 'B', 'C', 'D')) AS p;

-- name: pivot_of_a_join
-- world: clinic
SELECT * FROM (SELECT p.sex, v.ward FROM visits v JOIN patients p ON p.patient_id = v.patient_id) t
PIVOT (COUNT(*) FOR ward IN ('A', 'B', 'C', 'D')) AS x
ORDER BY sex;

-- name: pivot_of_a_cte
-- world: clinic
WITH t AS (SELECT YEAR(day) AS y, ward, cost FROM visits)
SELECT * FROM t PIVOT (SUM(cost) FOR ward IN ('A', 'B')) ORDER BY y;

-- name: pivot_of_released_rows
-- world: clinic
SELECT * FROM (SELECT sex, plan, COUNT(*) AS n FROM patients GROUP BY sex, plan) c PIVOT (SUM(n) FOR plan IN ('basic', 'gold', 'silver')) ORDER BY sex;

-- name: pivot_with_two_aggregates
-- world: clinic
SELECT sex, a_n, a_m, b_n, b_m FROM (SELECT p.sex, v.ward, v.nights FROM visits v JOIN patients p USING (patient_id)) t
PIVOT (COUNT(*) AS n, AVG(nights) AS m FOR ward IN ('A' AS a, 'B' AS b)) ORDER BY sex;

-- name: pivot_with_a_condition
-- world: clinic
SELECT city, "F" AS women, "M" AS men FROM (SELECT city, sex FROM patients WHERE smoker) PIVOT (COUNT(*) FOR sex IN ('F', 'M')) WHERE city IS NOT NULL ORDER BY women DESC, city;

-- name: cases
-- world: clinic
SELECT city, SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS women, SUM(CASE WHEN sex = 'M' THEN 1 ELSE 0 END) AS men, COUNT(*) AS people
FROM patients GROUP BY city ORDER BY city;

-- name: cases_with_counts
-- world: clinic
SELECT ward, COUNT(CASE WHEN urgent THEN 1 END) AS urgent, COUNT(CASE WHEN NOT urgent THEN visit_id END) AS planned FROM visits GROUP BY ward;

-- name: filters
-- world: clinic
SELECT YEAR(day) AS y, COUNT(*) FILTER (WHERE ward = 'A') AS a, COUNT(*) FILTER (WHERE ward = 'B') AS b, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;

-- name: totals_by_rollup
-- world: clinic
SELECT sex, city, COUNT(*) AS n FROM patients WHERE city IS NOT NULL GROUP BY ROLLUP (sex, city) ORDER BY sex, city;

-- name: totals_by_cube
-- world: clinic
SELECT sex, smoker, COUNT(*) AS n FROM patients WHERE smoker IS NOT NULL GROUP BY CUBE (sex, smoker) ORDER BY sex, smoker;

-- name: totals_by_grouping_sets
-- world: clinic
SELECT ward, urgent, SUM(nights) AS nights, GROUPING(urgent) AS g FROM visits WHERE ward IN ('A', 'B') GROUP BY GROUPING SETS ((ward, urgent), (ward), ());

-- name: pivot_on_a_person
-- world: clinic
-- refused: request
PIVOT visits ON patient_id USING COUNT(*) GROUP BY ward;

-- name: pivot_statement_of_two_groups
-- world: bikes
PIVOT riders ON member USING COUNT(*) GROUP BY tariff ORDER BY tariff;

-- name: pivot_statement_with_a_mean
-- world: bikes
PIVOT (SELECT r.tariff, r.member, t.price FROM trips t JOIN riders r USING (rider_id)) ON tariff IN ('day', 'month', 'year') USING AVG(price) GROUP BY member;

-- name: pivot_statement_with_an_alias
-- world: bikes
PIVOT trips ON from_station IN (1, 2, 3) USING COUNT(*) AS n, SUM(price) AS income;

-- name: pivot_in_from_of_a_month
-- world: bikes
SELECT * FROM (SELECT MONTH(started) AS m, member FROM trips JOIN riders USING (rider_id)) t PIVOT (COUNT(*) FOR m IN (1, 2, 3)) ORDER BY member;

-- name: pivot_and_a_total
-- world: bikes
SELECT tariff, yes, no, yes + no AS total FROM (SELECT tariff, member FROM riders) PIVOT (COUNT(*) FOR member IN (TRUE AS yes, FALSE AS no)) ORDER BY tariff;

-- name: rollup_with_a_name_for_the_total
-- world: bikes
SELECT COALESCE(tariff, 'all') AS tariff, COUNT(*) AS n FROM riders GROUP BY ROLLUP (tariff) ORDER BY n;

-- name: with_rollup
-- world: bikes
-- plain: SELECT tariff, COUNT(*) AS n FROM riders GROUP BY ROLLUP (tariff)
SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff WITH ROLLUP;

-- name: pivot_statement_ordered_downwards
-- world: clinic
PIVOT patients ON sex IN ('F', 'M') USING COUNT(*) GROUP BY city ORDER BY city DESC NULLS LAST;

-- name: pivot_statement_with_a_limit
-- world: clinic
PIVOT patients ON sex IN ('F', 'M') USING COUNT(*) AS n GROUP BY city ORDER BY city LIMIT 2;

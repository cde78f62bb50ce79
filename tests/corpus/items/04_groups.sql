-- Item 4: groups alone. Declared ones are public and free, others are found and charged. A declared group is listed
-- though it is empty, so that plain statements list what is declared where the data has less.

-- name: distinct_declared
-- world: clinic
SELECT DISTINCT sex FROM patients;

-- name: distinct_declared_with_null
-- world: clinic
SELECT DISTINCT city FROM patients ORDER BY city;

-- name: group_by_declared
-- world: clinic
SELECT sex FROM patients GROUP BY sex ORDER BY sex DESC;

-- name: group_by_two_columns
-- world: clinic
SELECT sex, city FROM patients GROUP BY sex, city ORDER BY sex, city NULLS FIRST;

-- name: distinct_two_columns
-- world: shop
SELECT DISTINCT Country, Segment FROM Customers;

-- name: distinct_with_a_condition_on_the_column
-- world: clinic
SELECT DISTINCT city FROM patients WHERE city IN ('Cork', 'Delft');

-- name: distinct_with_an_empty_group
-- world: clinic
-- plain: SELECT ward FROM wards ORDER BY ward
SELECT DISTINCT ward FROM visits ORDER BY ward;

-- name: distinct_found
-- world: clinic
SELECT DISTINCT diagnosis FROM visits;

-- name: group_by_found
-- world: clinic
SELECT plan FROM patients GROUP BY plan;

-- name: distinct_found_and_ordered
-- world: clinic
SELECT DISTINCT p.plan FROM patients AS p WHERE p.birth_year >= 1990 ORDER BY p.plan;

-- name: distinct_declared_and_found
-- world: clinic
SELECT DISTINCT sex, plan FROM patients ORDER BY 1, 2;

-- name: distinct_boolean
-- world: clinic
select distinct urgent from visits;

-- name: group_by_an_expression
-- world: clinic
SELECT UPPER(plan) AS plan_name FROM patients GROUP BY UPPER(plan);

-- name: distinct_expression
-- world: clinic
SELECT DISTINCT EXTRACT(YEAR FROM day) AS y FROM visits ORDER BY y;

-- name: groups_with_having
-- world: clinic
SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 400;

-- name: declared_groups_with_having
-- world: clinic
SELECT ward FROM visits GROUP BY ward HAVING COUNT(DISTINCT patient_id) >= 300 ORDER BY ward;

-- name: groups_ordered_by_a_count
-- world: clinic
SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1;

-- name: groups_of_a_join
-- world: clinic
SELECT DISTINCT d.family FROM prescriptions r JOIN drugs d ON d.drug_id = r.drug_id;

-- name: groups_of_a_join_that_are_found
-- world: clinic
SELECT d.drug FROM prescriptions r JOIN drugs d USING (drug_id) GROUP BY d.drug ORDER BY d.drug;

-- name: distinct_people
-- world: clinic
-- refused: patient_id
SELECT DISTINCT patient_id FROM visits;

-- name: distinct_keys_of_rows
-- world: clinic
-- refused: request
SELECT patient_id, ward FROM visits GROUP BY patient_id, ward;

-- name: distinct_of_a_persons_table_with_a_condition
-- world: bikes
SELECT DISTINCT r.tariff FROM riders r WHERE r.member ORDER BY r.tariff;

-- name: distinct_days_of_the_week
-- world: bikes
SELECT DISTINCT ISODOW(started) AS d FROM trips ORDER BY d;

-- name: group_by_place
-- world: bikes
SELECT tariff, member FROM riders GROUP BY 1, 2 ORDER BY 1, 2;

-- name: distinct_with_a_limit
-- world: bikes
SELECT DISTINCT tariff FROM riders ORDER BY tariff DESC LIMIT 2;

-- name: distinct_names_of_public_rows
-- world: bikes
SELECT DISTINCT s.district FROM trips t JOIN stations s ON s.station_id = t.from_station ORDER BY 1;

-- name: distinct_case
-- world: bikes
SELECT DISTINCT CASE WHEN km > 10 THEN 'far' WHEN km IS NULL THEN 'unknown' ELSE 'near' END AS distance FROM trips ORDER BY distance;

-- name: groups_in_a_cte
-- world: bikes
WITH g AS (SELECT DISTINCT tariff FROM riders) SELECT tariff FROM g WHERE tariff <> 'day' ORDER BY tariff;

-- Item 12: quartiles by ROW_NUMBER and COUNT over everybody, and functions that show single values, which are refused.

-- name: median_of_two_middle_rows
-- world: clinic
-- close: 0.02
SELECT AVG(cost) AS median
FROM (SELECT cost, ROW_NUMBER() OVER (ORDER BY cost) AS rn, COUNT(*) OVER () AS n FROM visits WHERE cost IS NOT NULL) t
WHERE rn IN (FLOOR((n + 1) / 2.0), CEIL((n + 1) / 2.0));

-- name: quartiles_by_case
-- world: clinic
-- close: 0.02
SELECT MIN(CASE WHEN rn < 0.25 * n THEN 9999 ELSE weight END) AS q1,
  MIN(CASE WHEN rn < 0.50 * n THEN 9999 ELSE weight END) AS q2,
  MIN(CASE WHEN rn < 0.75 * n THEN 9999 ELSE weight END) AS q3
FROM (SELECT weight, ROW_NUMBER() OVER (ORDER BY weight) AS rn, COUNT(*) OVER () AS n FROM patients WHERE weight IS NOT NULL) w;

-- name: quartiles_by_population_size
-- world: clinic
-- close: 0.002
SELECT MIN(birth_year) AS least,
  MIN(CASE WHEN order_nr < .25 * population_size THEN 9999 ELSE birth_year END) AS percentile_25,
  MIN(CASE WHEN order_nr < .50 * population_size THEN 9999 ELSE birth_year END) AS median,
  MIN(CASE WHEN order_nr < .75 * population_size THEN 9999 ELSE birth_year END) AS percentile_75,
  MAX(birth_year) AS greatest
FROM (
  SELECT birth_year, ROW_NUMBER() OVER (ORDER BY birth_year) AS order_nr, (SELECT COUNT(*) FROM patients) AS population_size
  FROM patients
) AS ordered;

-- name: quartiles_in_groups
-- world: clinic
-- close: 0.002
SELECT sex,
  MIN(CASE WHEN rn >= 0.25 * n THEN birth_year END) AS q1,
  MIN(CASE WHEN rn >= 0.75 * n THEN birth_year END) AS q3
FROM (
  SELECT sex, birth_year, ROW_NUMBER() OVER (PARTITION BY sex ORDER BY birth_year) AS rn, COUNT(*) OVER (PARTITION BY sex) AS n
  FROM patients
) t
GROUP BY sex;

-- name: quartiles_with_a_cte
-- world: clinic
-- close: 0.05
WITH ranked AS (SELECT nights, ROW_NUMBER() OVER (ORDER BY nights) AS i, COUNT(*) OVER () AS n FROM visits WHERE ward = 'A')
SELECT MAX(CASE WHEN i <= 0.5 * n THEN nights END) AS median FROM ranked;

-- name: median_function
-- world: clinic
-- close: 0.02
SELECT MEDIAN(cost) AS median FROM visits;

-- name: percentile_cont_within_group
-- world: clinic
-- close: 0.05
SELECT ward, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) AS median FROM visits WHERE ward <> 'E' GROUP BY ward;

-- name: percentile_disc_within_group
-- world: clinic
-- close: 0.02
SELECT PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost) AS q1, PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY cost) AS q3 FROM visits;

-- name: quantile_cont
-- world: clinic
-- close: 0.02
SELECT QUANTILE_CONT(weight, 0.1) AS p10, QUANTILE_CONT(weight, 0.9) AS p90 FROM patients;

-- name: quantile_disc
-- world: clinic
-- close: 0.02
SELECT QUANTILE_DISC(cost, 0.9) AS p90 FROM visits;

-- name: interquartile_range
-- world: clinic
-- close: 0.03
SELECT QUANTILE(cost, 0.75) - QUANTILE(cost, 0.25) AS iqr FROM visits;

-- name: median_over_people
-- world: clinic
-- close: 0.35
SELECT MEDIAN(n) AS visits FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t;

-- name: listagg
-- world: clinic
-- refused: LISTAGG
SELECT ward, LISTAGG(diagnosis, ', ') FROM visits GROUP BY ward;

-- name: string_agg
-- world: clinic
-- refused: STRING_AGG
SELECT STRING_AGG(plan, ',') FROM patients;

-- name: group_concat
-- world: clinic
-- refused: GROUP_CONCAT
SELECT sex, GROUP_CONCAT(city) FROM patients GROUP BY sex;

-- name: array_agg
-- world: clinic
-- refused: ARRAY_AGG
SELECT ARRAY_AGG(cost) FROM visits;

-- name: any_value
-- world: clinic
-- refused: ANY_VALUE
SELECT ward, ANY_VALUE(diagnosis) FROM visits GROUP BY ward;

-- name: first_value
-- world: clinic
-- refused: FIRST
SELECT FIRST(cost) FROM visits;

-- name: approx_count_distinct
-- world: clinic
-- refused: COUNT(DISTINCT
SELECT APPROX_COUNT_DISTINCT(diagnosis) FROM visits;

-- name: approx_quantile
-- world: clinic
-- refused: QUANTILE(
SELECT APPROX_QUANTILE(cost, 0.5) FROM visits;

-- name: approx_quantiles
-- world: clinic
-- refused: APPROX_QUANTILES
SELECT APPROX_QUANTILES(cost, 4) FROM visits;

-- name: approx_top_k
-- world: clinic
-- refused: TOP_K(
SELECT APPROX_TOP_K(diagnosis, 3) FROM visits;

-- name: explode
-- world: clinic
-- refused: UNNEST
SELECT UNNEST(cost) FROM visits;

-- name: rows_in_order
-- world: clinic
-- refused: request
SELECT cost FROM (SELECT cost, ROW_NUMBER() OVER (ORDER BY cost DESC) AS rn FROM visits) t WHERE rn <= 10;

-- name: median_of_a_persons_table
-- world: bikes
-- close: 0.02
SELECT AVG(km) AS median FROM (
  SELECT km, ROW_NUMBER() OVER (ORDER BY km) AS place, COUNT(*) OVER () AS total FROM trips WHERE km IS NOT NULL
) t WHERE place BETWEEN total / 2.0 AND total / 2.0 + 1;

-- name: quartiles_with_joined_count
-- world: bikes
-- close: 0.02
WITH numbered AS (SELECT price, ROW_NUMBER() OVER (ORDER BY price) AS i FROM trips),
     size AS (SELECT COUNT(*) AS n FROM trips)
SELECT MIN(CASE WHEN i >= 0.25 * n THEN price END) AS q1, MIN(CASE WHEN i >= 0.5 * n THEN price END) AS q2, MIN(CASE WHEN i >= 0.75 * n THEN price END) AS q3
FROM numbered, size;

-- name: quartiles_by_ntile
-- world: bikes
-- close: 0.02
SELECT quarter, MAX(price) AS upto FROM (SELECT price, NTILE(4) OVER (ORDER BY price) AS quarter FROM trips) t WHERE quarter <= 3 GROUP BY quarter ORDER BY quarter;

-- name: quartiles_by_percent_rank
-- world: bikes
-- close: 0.02
SELECT MIN(price) AS q3 FROM (SELECT price, PERCENT_RANK() OVER (ORDER BY price) AS r FROM trips) t WHERE r >= 0.75;

-- name: quartiles_by_cume_dist
-- world: bikes
-- close: 0.02
SELECT MIN(price) AS median FROM (SELECT price, CUME_DIST() OVER (ORDER BY price) AS d FROM trips) t WHERE d >= 0.5;

-- name: quartiles_with_the_mean_and_the_spread
-- world: bikes
-- close: 0.02
SELECT COUNT(*) AS n, MIN(price) AS least, MAX(price) AS most, AVG(price) AS mean, STDDEV(price) AS spread,
  MIN(CASE WHEN order_nr < .25 * population_size THEN 9999 ELSE price END) AS q1,
  MIN(CASE WHEN order_nr < .50 * population_size THEN 9999 ELSE price END) AS median,
  MIN(CASE WHEN order_nr < .75 * population_size THEN 9999 ELSE price END) AS q3
FROM (SELECT price, ROW_NUMBER() OVER (ORDER BY price) AS order_nr, COUNT(*) OVER () AS population_size FROM trips) o;

-- name: quantiles_in_groups
-- world: bikes
-- close: 0.03
SELECT tariff, MEDIAN(price) AS m, QUANTILE_CONT(price, 0.95) AS p95 FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY tariff;

-- name: array_of_quantiles
-- world: bikes
-- refused: QUANTILE
SELECT QUANTILE_CONT(price, [0.25, 0.5, 0.75]) FROM trips;

-- name: arg_max
-- world: bikes
-- refused: ARG_MAX
SELECT ARG_MAX(rider_id, km) FROM trips;

-- name: max_by
-- world: bikes
-- refused: MAX_BY
SELECT MAX_BY(rider_id, km) FROM trips;

-- name: json_agg
-- world: bikes
-- refused: request
SELECT JSON_GROUP_ARRAY(km) FROM trips;

-- name: approx_distinct
-- world: bikes
-- refused: APPROX_DISTINCT
SELECT APPROX_DISTINCT(rider_id) FROM trips;

-- name: approx_percentile
-- world: bikes
-- refused: APPROX_PERCENTILE
SELECT APPROX_PERCENTILE(km, 0.5) FROM trips;

-- name: string_to_rows
-- world: bikes
-- refused: REGEXP_SPLIT_TO_TABLE
SELECT REGEXP_SPLIT_TO_TABLE(rider_id, '0') FROM trips;

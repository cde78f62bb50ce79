-- Item 5: what is done with released rows is free: windows, aggregates of them, joins with public tables and with each
-- other, released values in other expressions. A released value that would choose among private rows is refused.

-- name: share_of_the_total
-- world: clinic
SELECT ward, n, n * 1.0 / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t;

-- name: share_in_one_select
-- world: clinic
SELECT sex, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent FROM patients GROUP BY sex;

-- name: rank_of_groups
-- world: clinic
SELECT ward, RANK() OVER (ORDER BY n DESC) AS place
FROM (SELECT ward, COUNT(*) AS n FROM visits WHERE ward <> 'E' GROUP BY ward) AS counts
ORDER BY place;

-- name: row_number_and_dense_rank
-- world: clinic
WITH c AS (SELECT diagnosis, COUNT(*) AS n FROM visits WHERE diagnosis IS NOT NULL GROUP BY diagnosis)
SELECT diagnosis, ROW_NUMBER() OVER (ORDER BY n DESC, diagnosis) AS i, DENSE_RANK() OVER (ORDER BY n) AS r FROM c ORDER BY i;

-- name: lag_by_year
-- world: clinic
WITH yearly AS (SELECT YEAR(day) AS y, COUNT(*) AS n FROM visits GROUP BY YEAR(day))
SELECT y, n, n - LAG(n) OVER (ORDER BY y) AS growth FROM yearly ORDER BY y;

-- name: lead_of_months
-- world: clinic
SELECT m, n, LEAD(n, 1) OVER (ORDER BY m) AS next_month
FROM (SELECT MONTH(day) AS m, SUM(nights) AS n FROM visits GROUP BY 1) q
ORDER BY m;

-- name: running_total
-- world: clinic
SELECT month, n, SUM(n) OVER (ORDER BY month ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far
FROM (SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits WHERE YEAR(day) = 2023 GROUP BY month) AS monthly
ORDER BY month;

-- name: moving_average
-- world: clinic
SELECT m, AVG(n) OVER (ORDER BY m ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS smooth
FROM (SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY MONTH(day)) t
ORDER BY m;

-- name: window_by_partition
-- world: clinic
SELECT sex, city, n, RANK() OVER (PARTITION BY sex ORDER BY n DESC) AS place
FROM (SELECT sex, city, COUNT(*) AS n FROM patients WHERE city IS NOT NULL GROUP BY sex, city) g
ORDER BY sex, place, city;

-- name: window_over_aggregates_in_one_select
-- world: clinic
SELECT ward, SUM(nights) AS nights, RANK() OVER (ORDER BY SUM(nights) DESC) AS place FROM visits WHERE ward <> 'E' GROUP BY ward ORDER BY place;

-- name: top_of_each_by_qualify
-- world: clinic
SELECT sex, city, COUNT(*) AS n
FROM patients
WHERE city IS NOT NULL
GROUP BY sex, city
QUALIFY ROW_NUMBER() OVER (PARTITION BY sex ORDER BY COUNT(*) DESC) = 1
ORDER BY sex;

-- name: average_of_counts
-- world: clinic
SELECT AVG(n) AS mean, MAX(n) AS most, MIN(n) AS least, SUM(n) AS total
FROM (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis) AS by_diagnosis;

-- name: average_of_counts_in_a_cte
-- world: clinic
WITH by_year AS (SELECT YEAR(registered) AS y, COUNT(*) AS n FROM patients GROUP BY 1) SELECT COUNT(*) AS years, AVG(n) AS a FROM by_year;

-- name: grouped_again
-- world: clinic
SELECT sex, MAX(n) AS most FROM (SELECT sex, plan, COUNT(*) AS n FROM patients GROUP BY sex, plan) x GROUP BY sex ORDER BY sex;

-- name: grouped_again_by_an_expression
-- world: clinic
SELECT CASE WHEN m <= 6 THEN 'first' ELSE 'second' END AS half, SUM(n) AS n
FROM (SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY 1) GROUP BY 1 ORDER BY 1;

-- name: released_joined_with_public
-- world: clinic
SELECT w.title, c.n, c.n * 1.0 / w.beds AS per_bed
FROM (SELECT ward, COUNT(*) AS n FROM visits WHERE ward <> 'E' GROUP BY ward) c
JOIN wards w ON w.ward = c.ward
ORDER BY w.title;

-- name: public_left_joined_with_released
-- world: clinic
-- plain: SELECT d.drug, COALESCE(c.n, 0) AS n FROM drugs d LEFT JOIN (SELECT drug_id, COUNT(*) AS n FROM prescriptions
--   GROUP BY drug_id) c ON c.drug_id = d.drug_id ORDER BY d.drug
SELECT d.drug, COALESCE(c.n, 0) AS n
FROM drugs d
LEFT JOIN (SELECT drug_id, COUNT(*) AS n FROM prescriptions GROUP BY drug_id) c ON c.drug_id = d.drug_id
ORDER BY d.drug;

-- name: released_joined_with_released
-- world: clinic
WITH urgent AS (SELECT ward, COUNT(*) AS n FROM visits WHERE urgent AND ward <> 'E' GROUP BY ward),
     everything AS (SELECT ward, COUNT(*) AS n FROM visits WHERE ward <> 'E' GROUP BY ward)
SELECT e.ward, u.n * 1.0 / e.n AS share FROM everything e JOIN urgent u ON u.ward = e.ward ORDER BY e.ward;

-- name: released_joined_with_released_of_another_table
-- world: clinic
SELECT a.ward, a.visits, b.drugs
FROM (SELECT ward, COUNT(*) AS visits FROM visits WHERE ward <> 'E' GROUP BY ward) a
INNER JOIN (SELECT v.ward, COUNT(*) AS drugs FROM prescriptions r JOIN visits v ON v.visit_id = r.visit_id WHERE v.ward <> 'E' GROUP BY v.ward) b
  ON a.ward = b.ward;

-- name: cross_join_with_a_total
-- world: clinic
WITH total AS (SELECT COUNT(*) AS n FROM patients), by_sex AS (SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex)
SELECT by_sex.sex, 1.0 * by_sex.n / total.n AS share FROM by_sex CROSS JOIN total;

-- name: scalar_in_an_expression
-- world: clinic
SELECT sex, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM patients) AS percent FROM patients GROUP BY sex;

-- name: scalars_alone
-- world: clinic
SELECT (SELECT COUNT(*) FROM visits) * 1.0 / (SELECT COUNT(*) FROM patients) AS visits_each;

-- name: difference_of_two_scalars
-- world: clinic
SELECT (SELECT AVG(weight) FROM patients WHERE sex = 'M') - (SELECT AVG(weight) FROM patients WHERE sex = 'F') AS gap;

-- name: released_rows_above_a_released_value
-- world: clinic
WITH c AS (SELECT city, COUNT(*) AS n FROM patients WHERE city IS NOT NULL GROUP BY city)
SELECT city, n FROM c WHERE n > (SELECT AVG(n) FROM c) ORDER BY city;

-- name: having_beside_a_scalar
-- world: clinic
SELECT ward, AVG(nights) AS nights FROM visits WHERE ward <> 'E' GROUP BY ward HAVING AVG(nights) > (SELECT AVG(nights) FROM visits) ORDER BY ward;

-- name: union_all_of_released_rows
-- world: clinic
SELECT 'patients' AS what, COUNT(*) AS n FROM patients UNION ALL SELECT 'visits' AS what, COUNT(*) AS n FROM visits;

-- name: union_all_of_groups_and_total
-- world: clinic
SELECT sex AS label, COUNT(*) AS n FROM patients GROUP BY sex UNION ALL SELECT 'all', COUNT(*) FROM patients;

-- name: released_value_filters_private_rows
-- world: clinic
-- close: 0.02
SELECT COUNT(*) FROM patients WHERE weight > (SELECT AVG(weight) FROM patients);

-- name: released_rows_filter_private_rows
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 500);

-- name: released_rows_joined_with_private_rows
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM visits v JOIN (SELECT ward, AVG(cost) AS a FROM visits GROUP BY ward) m ON m.ward = v.ward WHERE v.cost > m.a;

-- name: released_value_weighs_private_rows
-- world: clinic
-- plain: SELECT 0.0
-- close: 0.01
SELECT SUM(cost - (SELECT AVG(cost) FROM visits)) FROM visits;

-- name: percentage_with_partition
-- world: bikes
SELECT tariff, member, n, ROUND(100.0 * n / SUM(n) OVER (PARTITION BY tariff), 1) AS percent
FROM (SELECT tariff, member, COUNT(*) AS n FROM riders GROUP BY tariff, member) g
ORDER BY tariff, member;

-- name: ntile_and_percent_rank
-- world: bikes
SELECT from_station, n, NTILE(4) OVER (ORDER BY n DESC, from_station) AS quarter
FROM (SELECT from_station, COUNT(*) AS n FROM trips WHERE from_station <= 11 GROUP BY from_station) c
ORDER BY n DESC, from_station;

-- name: first_and_last_value
-- world: bikes
SELECT m, n, FIRST_VALUE(n) OVER (ORDER BY m) AS january, n * 1.0 / FIRST_VALUE(n) OVER (ORDER BY m) AS index_number
FROM (SELECT MONTH(started) AS m, COUNT(*) AS n FROM trips GROUP BY MONTH(started)) monthly
ORDER BY m;

-- name: growth_in_one_select
-- world: bikes
SELECT MONTH(started) AS m, COUNT(*) AS n, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY MONTH(started)) AS growth
FROM trips
GROUP BY MONTH(started)
ORDER BY m;

-- name: cumulative_share_in_one_select
-- world: bikes
SELECT tariff, SUM(COUNT(*)) OVER (ORDER BY tariff) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM riders GROUP BY tariff ORDER BY tariff;

-- name: named_window
-- world: bikes
SELECT m, n, SUM(n) OVER w AS so_far, AVG(n) OVER w AS mean_so_far
FROM (SELECT MONTH(started) AS m, COUNT(*) AS n FROM trips GROUP BY 1) t
WINDOW w AS (ORDER BY m)
ORDER BY m;

-- name: best_of_each_group
-- world: bikes
WITH c AS (SELECT r.tariff, MONTH(t.started) AS m, SUM(t.price) AS income FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.tariff, MONTH(t.started)),
ranked AS (SELECT tariff, m, income, ROW_NUMBER() OVER (PARTITION BY tariff ORDER BY income DESC) AS place FROM c)
SELECT tariff, m, income FROM ranked WHERE place = 1 ORDER BY tariff;

-- name: two_steps_of_ctes
-- world: bikes
WITH daily AS (SELECT CAST(started AS DATE) AS d, COUNT(*) AS n FROM trips WHERE MONTH(started) = 5 GROUP BY 1),
weekly AS (SELECT DATE_TRUNC('week', d) AS w, SUM(n) AS n FROM daily GROUP BY 1)
SELECT MAX(n) AS busiest FROM weekly;

-- name: released_joined_with_public_twice
-- world: bikes
SELECT a.name AS origin, b.name AS destination, c.n
FROM (SELECT from_station, to_station, COUNT(*) AS n FROM trips WHERE from_station <= 2 AND to_station <= 2 GROUP BY from_station, to_station) c
JOIN stations a ON a.station_id = c.from_station
JOIN stations b ON b.station_id = c.to_station
WHERE c.n > 0
ORDER BY origin, destination;

-- name: released_grouped_by_a_public_column
-- world: bikes
SELECT s.district, SUM(c.n) AS trips
FROM (SELECT from_station, COUNT(*) AS n FROM trips GROUP BY from_station) c JOIN stations s ON s.station_id = c.from_station
GROUP BY s.district
ORDER BY s.district;

-- name: left_join_of_two_released
-- world: bikes
SELECT a.m, a.n AS started, COALESCE(b.n, 0) AS far
FROM (SELECT MONTH(started) AS m, COUNT(*) AS n FROM trips GROUP BY 1) a
LEFT JOIN (SELECT MONTH(started) AS m, COUNT(*) AS n FROM trips WHERE km > 20 GROUP BY 1) b ON a.m = b.m
ORDER BY a.m;

-- name: comma_join_of_two_released_scalars
-- world: bikes
SELECT a.n AS riders, b.n AS trips, b.n * 1.0 / a.n AS each FROM (SELECT COUNT(*) AS n FROM riders) a, (SELECT COUNT(*) AS n FROM trips) b;

-- name: ratio_to_a_scalar_of_a_cte
-- world: bikes
WITH t AS (SELECT SUM(price) AS total FROM trips)
SELECT member, SUM(price) / (SELECT total FROM t) AS share FROM trips JOIN riders USING (rider_id) GROUP BY member;

-- name: case_over_a_released_count
-- world: bikes
SELECT tariff, CASE WHEN n > 100 THEN 'many' ELSE 'few' END AS size FROM (SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff) t;

-- name: order_by_a_window
-- world: bikes
SELECT tariff, n FROM (SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff) t ORDER BY RANK() OVER (ORDER BY n);

-- name: released_value_as_a_limit
-- world: bikes
-- close: 0.02
SELECT SUM(LEAST(km, (SELECT QUANTILE(km, 0.9) FROM trips))) FROM trips;

-- name: released_groups_choose_private_rows
-- world: bikes
-- refused: request
WITH busy AS (SELECT from_station, COUNT(*) AS n FROM trips GROUP BY from_station ORDER BY n DESC LIMIT 3)
SELECT AVG(t.km) FROM trips t JOIN busy b ON b.from_station = t.from_station;

-- name: above_the_mean_by_group
-- world: clinic
-- close: 0.02
SELECT sex, COUNT(*) AS n FROM patients WHERE weight > (SELECT AVG(weight) FROM patients) GROUP BY sex ORDER BY sex;

-- name: twice_the_mean_in_a_sub_query
-- world: clinic
-- close: 0.02
SELECT COUNT(*) AS n FROM (SELECT visit_id FROM visits WHERE cost > 1.5 * (SELECT AVG(cost) FROM visits)) AS dear;

-- name: between_two_released_values
-- world: clinic
-- close: 0.02
SELECT COUNT(*) AS n FROM visits WHERE cost BETWEEN (SELECT AVG(cost) FROM visits WHERE ward = 'A') - 50 AND (SELECT AVG(cost) FROM visits WHERE ward = 'B') + 50;

-- name: above_the_mean_of_those_below_another
-- world: clinic
-- close: 0.05
SELECT COUNT(*) AS n FROM visits WHERE nights > (SELECT AVG(nights) FROM visits WHERE nights < (SELECT AVG(nights) FROM visits));

-- name: counted_by_a_case_above_the_mean
-- world: clinic
-- close: 0.02
SELECT SUM(CASE WHEN weight > (SELECT AVG(weight) FROM patients) THEN 1 ELSE 0 END) AS above, COUNT(*) AS n FROM patients;

-- name: grouped_by_being_above_the_mean
-- world: clinic
-- close: 0.02
SELECT cost > (SELECT AVG(cost) FROM visits) AS above, COUNT(*) AS n FROM visits WHERE cost IS NOT NULL GROUP BY above ORDER BY above;

-- name: the_most_frequent_value_chooses_rows
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE ward = (SELECT MODE(ward) FROM visits);

-- name: above_the_mean_in_a_cte
-- world: clinic
-- close: 0.02
WITH m AS (SELECT AVG(cost) AS a FROM visits) SELECT ward, COUNT(*) AS n FROM visits WHERE cost > (SELECT a FROM m) AND ward <> 'E' GROUP BY ward ORDER BY ward;

-- name: share_above_the_mean
-- world: clinic
-- close: 0.02
SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM patients) AS share FROM patients WHERE weight > (SELECT AVG(weight) FROM patients);

-- name: regression_line
-- world: clinic
SELECT ward, REGR_SLOPE(cost, nights) AS slope, REGR_INTERCEPT(cost, nights) AS start, REGR_R2(cost, nights) AS share
FROM visits GROUP BY ward;

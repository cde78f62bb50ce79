-- Item 2: differential privacy as GoogleSQL documents it. Bounds are wide enough here that nothing is clamped, or the
-- plain statement clamps as the documentation of GoogleSQL has it.

-- name: options_and_count
-- world: clinic
-- plain: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  ward, COUNT(*) AS n
FROM visits
GROUP BY ward;

-- name: sum_with_bounds_per_group
-- world: clinic
-- plain: SELECT ward, SUM(s) AS nights FROM (SELECT ward, patient_id, LEAST(GREATEST(SUM(nights), 0), 10) AS s
--   FROM visits GROUP BY ward, patient_id) GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon = 1.5, delta = 1e-7, max_groups_contributed = 40, privacy_unit_column = patient_id)
  ward, SUM(nights, contribution_bounds_per_group => (0, 10)) AS nights
FROM visits
GROUP BY ward;

-- name: sum_with_wide_bounds_per_group
-- world: clinic
-- plain: SELECT ward, SUM(nights) AS nights FROM visits GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1.5, delta = 1e-7, privacy_unit_column = patient_id)
  ward, SUM(nights, contribution_bounds_per_group => (0, 100)) nights
FROM visits GROUP BY ward;

-- name: count_with_bounds_per_group
-- world: clinic
-- plain: SELECT ward, SUM(LEAST(n, 2)) AS n FROM (SELECT ward, patient_id, COUNT(*) AS n FROM visits
--   GROUP BY ward, patient_id) GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=20, delta=.01, privacy_unit_column=patient_id)
  ward, COUNT(*, contribution_bounds_per_group => (0, 2)) AS n
FROM visits
GROUP BY ward;

-- name: count_column_with_bounds_per_group
-- world: clinic
-- plain: SELECT SUM(LEAST(n, 3)) AS priced FROM (SELECT patient_id, COUNT(cost) AS n FROM visits GROUP BY patient_id)
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=20, delta=.01, privacy_unit_column=patient_id)
  COUNT(cost, contribution_bounds_per_group => (0, 3)) AS priced
FROM visits;

-- name: average_with_bounds_per_group
-- world: clinic
-- plain: SELECT sex, AVG(LEAST(GREATEST(weight, 50), 90)) AS weight FROM patients WHERE weight IS NOT NULL GROUP BY sex
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  sex, AVG(weight, contribution_bounds_per_group => (50, 90)) AS weight
FROM patients
GROUP BY sex;

-- name: sum_with_bounds_per_row
-- world: clinic
-- plain: SELECT ward, SUM(LEAST(GREATEST(cost, 10), 250)) AS cost FROM visits WHERE cost IS NOT NULL GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  ward, SUM(cost, contribution_bounds_per_row => (10, 250)) AS cost
FROM visits
GROUP BY ward;

-- name: average_with_bounds_per_row
-- world: clinic
-- plain: SELECT AVG(LEAST(GREATEST(cost, 100), 500)) AS cost FROM visits WHERE cost IS NOT NULL
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  AVG(cost, contribution_bounds_per_row => (100, 500)) AS cost
FROM visits;

-- name: variance_with_bounds_per_row
-- world: clinic
-- plain: SELECT VAR_POP(LEAST(GREATEST(cost, 0), 400)) AS v, STDDEV_POP(LEAST(GREATEST(cost, 0), 400)) AS s FROM visits
--   WHERE cost IS NOT NULL
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  VAR_POP(cost, contribution_bounds_per_row => (0, 400)) AS v,
  STDDEV_POP(cost, contribution_bounds_per_row => (0, 400)) AS s
FROM visits;

-- name: percentile_cont_with_two_arguments
-- world: clinic
-- plain: SELECT ward, QUANTILE_CONT(cost, 0.5) AS median FROM visits GROUP BY ward
-- close: 0.05
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  ward, PERCENTILE_CONT(cost, 0.5, contribution_bounds_per_row => (0, 1000)) AS median
FROM visits
WHERE ward <> 'E'
GROUP BY ward;

-- name: percentile_cont_without_bounds
-- world: clinic
-- plain: SELECT QUANTILE_CONT(birth_year, 0.25) AS q FROM patients
-- close: 0.001
SELECT PERCENTILE_CONT(birth_year, 0.25) AS q FROM patients;

-- name: public_groups
-- world: clinic
-- plain: SELECT w.ward, COUNT(v.visit_id) AS n FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.ward
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS)
  w.ward, COUNT(visit_id) AS n
FROM visits RIGHT OUTER JOIN (SELECT DISTINCT ward FROM wards) AS w ON visits.ward = w.ward
GROUP BY w.ward;

-- name: laplace_threshold
-- world: clinic
-- plain: SELECT diagnosis, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY diagnosis
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id, max_groups_contributed = 40,
    group_selection_strategy = LAPLACE_THRESHOLD)
  diagnosis, COUNT(DISTINCT patient_id) AS people
FROM visits
GROUP BY diagnosis;

-- name: count_of_people
-- world: clinic
-- plain: SELECT ward, COUNT(DISTINCT patient_id) AS people FROM visits WHERE day >= DATE '2023-01-01' GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon = 1.5, delta = 1e-7, max_groups_contributed = 5, privacy_unit_column = patient_id)
  ward, COUNT(DISTINCT patient_id) AS people
FROM visits
WHERE day >= DATE '2023-01-01'
GROUP BY ward;

-- name: anon_count
-- world: clinic
-- plain: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 10, delta = .01, kappa = 40) ward, ANON_COUNT(*) AS n FROM visits GROUP BY ward;

-- name: anon_count_clamped
-- world: clinic
-- plain: SELECT ward, SUM(LEAST(n, 1)) AS n FROM (SELECT ward, patient_id, COUNT(*) AS n FROM visits
--   GROUP BY ward, patient_id) GROUP BY ward
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 10, delta = .01) ward, ANON_COUNT(* CLAMPED BETWEEN 0 AND 1) AS n
FROM visits
GROUP BY ward;

-- name: anon_sum_clamped
-- world: clinic
-- plain: SELECT SUM(LEAST(GREATEST(s, 0), 20)) AS nights FROM (SELECT patient_id, SUM(nights) AS s FROM visits GROUP BY patient_id)
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 10, delta = .01) ANON_SUM(nights CLAMPED BETWEEN 0 AND 20) AS nights FROM visits;

-- name: anon_avg_clamped
-- world: clinic
-- plain: SELECT sex, AVG(weight) AS weight FROM patients GROUP BY sex
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 10, delta = .01) sex, ANON_AVG(weight CLAMPED BETWEEN 0 AND 200) AS weight
FROM patients
GROUP BY sex;

-- name: anon_percentile
-- world: clinic
-- plain: SELECT QUANTILE_CONT(weight, 0.5) AS w FROM patients
-- close: 0.02
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 10, delta = .01) ANON_PERCENTILE_CONT(weight, 0.5 CLAMPED BETWEEN 0 AND 200) AS w
FROM patients;

-- name: anon_spread
-- world: clinic
-- plain: SELECT sex, VAR_POP(weight) AS v, STDDEV_POP(weight) AS s FROM patients GROUP BY sex
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 10, delta = .01)
  sex, ANON_VAR_POP(weight CLAMPED BETWEEN 0 AND 200) AS v, ANON_STDDEV_POP(weight CLAMPED BETWEEN 0 AND 200) AS s
FROM patients
GROUP BY sex;

-- name: one_column_of_another_person
-- world: clinic
-- refused: privacy_unit_column
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-5, privacy_unit_column = visit_id) COUNT(*) AS n FROM visits;

-- name: bounds_that_are_no_constants
-- world: clinic
-- refused: contribution_bounds
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-5, privacy_unit_column = patient_id)
  SUM(nights, contribution_bounds_per_group => (0, cost)) AS n
FROM visits;

-- name: options_in_several_lines
-- world: bikes
-- plain: SELECT tariff, COUNT(*) AS riders FROM riders GROUP BY tariff
SELECT
  WITH DIFFERENTIAL_PRIVACY
    OPTIONS (
      epsilon = 2.0,
      delta = 1e-6,
      privacy_unit_column = rider_id
    )
    tariff,
    COUNT(*) AS riders
FROM riders
GROUP BY tariff;

-- name: privacy_unit_column_with_an_alias
-- world: bikes
-- plain: SELECT s.district, SUM(LEAST(GREATEST(km, 0), 20)) AS km FROM trips t JOIN stations s ON s.station_id = t.from_station GROUP BY s.district
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, privacy_unit_column = t.rider_id, max_groups_contributed = 12)
  s.district, SUM(t.km, contribution_bounds_per_row => (0, 20)) AS km
FROM trips t JOIN stations s ON s.station_id = t.from_station
GROUP BY s.district;

-- name: several_bounded_aggregates
-- world: bikes
-- plain: SELECT member, SUM(LEAST(c, 4)) AS n, SUM(LEAST(p, 25)) AS price FROM (SELECT r.member, r.rider_id, COUNT(*) AS c, SUM(price) AS p
--   FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.member, r.rider_id) GROUP BY member
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, privacy_unit_column = rider_id)
  member,
  COUNT(*, contribution_bounds_per_group => (0, 4)) AS n,
  SUM(price, contribution_bounds_per_group => (0, 25)) AS price
FROM trips JOIN riders USING (rider_id)
GROUP BY member;

-- name: bounds_below_zero
-- world: sensors
-- plain: SELECT kind, SUM(LEAST(GREATEST(level, -5), 15)) AS s FROM outdoor WHERE level IS NOT NULL GROUP BY kind
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6)
  kind, SUM(level, contribution_bounds_per_row => (-5, 15)) AS s
FROM outdoor
GROUP BY kind;

-- name: bounds_of_decimals
-- world: bikes
-- plain: SELECT AVG(LEAST(GREATEST(price, 0.5), 9.75)) AS p FROM trips
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, privacy_unit_column = rider_id)
  AVG(price, contribution_bounds_per_row => (0.5, 9.75)) AS p
FROM trips;

-- name: percentile_by_group
-- world: bikes
-- plain: SELECT member, QUANTILE_CONT(price, 0.9) AS p90 FROM trips JOIN riders USING (rider_id) GROUP BY member
-- close: 0.02
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, privacy_unit_column = rider_id)
  member, PERCENTILE_CONT(price, 0.9, contribution_bounds_per_row => (0, 30)) AS p90
FROM trips JOIN riders USING (rider_id)
GROUP BY member;

-- name: over_released_rows
-- world: bikes
-- plain: SELECT tariff, n FROM (SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff) WHERE n > 80 ORDER BY n DESC
SELECT tariff, n
FROM (
  SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, privacy_unit_column = rider_id) tariff, COUNT(*) AS n
  FROM riders
  GROUP BY tariff
)
WHERE n > 80
ORDER BY n DESC;

-- name: anon_count_distinct_people
-- world: bikes
-- plain: SELECT from_station, COUNT(DISTINCT rider_id) AS riders FROM trips GROUP BY from_station
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 12) from_station, COUNT(DISTINCT rider_id) AS riders
FROM trips
GROUP BY from_station;

-- name: bounds_in_the_wrong_order
-- world: bikes
-- refused: contribution_bounds_per_row
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, privacy_unit_column = rider_id)
  SUM(price, contribution_bounds_per_row => (20, 0)) AS p
FROM trips;

-- name: both_kinds_of_bounds
-- world: bikes
-- refused: contribution_bounds
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, privacy_unit_column = rider_id)
  SUM(price, contribution_bounds_per_row => (0, 20), contribution_bounds_per_group => (0, 50)) AS p
FROM trips;

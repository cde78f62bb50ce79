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
-- plain: SELECT sex, AVG(LEAST(GREATEST(weight, 50), 90)) AS weight FROM patients GROUP BY sex
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  sex, AVG(weight, contribution_bounds_per_group => (50, 90)) AS weight
FROM patients
GROUP BY sex;

-- name: sum_with_bounds_per_row
-- world: clinic
-- plain: SELECT ward, SUM(LEAST(GREATEST(cost, 10), 250)) AS cost FROM visits GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  ward, SUM(cost, contribution_bounds_per_row => (10, 250)) AS cost
FROM visits
GROUP BY ward;

-- name: average_with_bounds_per_row
-- world: clinic
-- plain: SELECT AVG(LEAST(GREATEST(cost, 100), 500)) AS cost FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10, delta = .01, privacy_unit_column = patient_id)
  AVG(cost, contribution_bounds_per_row => (100, 500)) AS cost
FROM visits;

-- name: variance_with_bounds_per_row
-- world: clinic
-- plain: SELECT VAR_POP(LEAST(GREATEST(cost, 0), 400)) AS v, STDDEV_POP(LEAST(GREATEST(cost, 0), 400)) AS s FROM visits
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

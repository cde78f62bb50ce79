-- Item 7: least, greatest, middle and mean dates; durations between dates as numbers.
-- Extremes and quantiles are values with the wanted rank, and so are compared within a tolerance (of days, a part of a year).

-- name: last_day
-- world: clinic
-- close: 0.02
SELECT MAX(day) AS last FROM visits;

-- name: first_and_last_day_by_ward
-- world: clinic
-- close: 0.1
SELECT ward, MIN(day) AS first, MAX(day) AS last FROM visits WHERE ward <> 'E' GROUP BY ward ORDER BY ward;

-- name: range_of_timestamps
-- world: clinic
-- close: 0.02
SELECT MIN(arrived) AS earliest, MAX(arrived) AS latest FROM visits;

-- name: median_day
-- world: clinic
-- plain: SELECT QUANTILE_DISC(day, 0.5) AS middle FROM visits
-- close: 0.02
SELECT MEDIAN(day) AS middle FROM visits;

-- name: median_timestamp
-- world: clinic
-- close: 0.02
SELECT MEDIAN(arrived) AS middle FROM visits WHERE urgent;

-- name: quantile_of_days
-- world: clinic
-- plain: SELECT QUANTILE_DISC(day, 0.9) AS late FROM visits
-- close: 0.02
SELECT QUANTILE(day, 0.9) AS late FROM visits;

-- name: percentile_within_group
-- world: clinic
-- plain: SELECT sex, QUANTILE_DISC(registered, 0.25) AS q FROM patients GROUP BY sex
-- close: 0.2
SELECT sex, PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY registered) AS q FROM patients GROUP BY sex;

-- name: mean_day
-- world: clinic
-- plain: SELECT make_timestamp(CAST(AVG(epoch_us(day)) AS BIGINT)) AS mean FROM visits
-- close: 0.003
SELECT AVG(day) AS mean FROM visits;

-- name: mean_timestamp_by_ward
-- world: clinic
-- plain: SELECT ward, make_timestamp(CAST(AVG(epoch_us(arrived)) AS BIGINT)) AS mean FROM visits WHERE ward IN ('A', 'B') GROUP BY ward
-- close: 0.003
SELECT ward, AVG(arrived) AS mean FROM visits WHERE ward IN ('A', 'B') GROUP BY ward;

-- name: days_between_as_a_difference
-- world: clinic
SELECT AVG(left_on - day) AS stay FROM visits;

-- name: sum_of_differences
-- world: clinic
SELECT ward, SUM(left_on - day) AS days FROM visits GROUP BY ward;

-- name: condition_on_a_difference
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE left_on - day >= 7;

-- name: group_by_a_difference
-- world: clinic
SELECT left_on - day AS stay, COUNT(*) AS n FROM visits WHERE left_on IS NOT NULL GROUP BY stay ORDER BY stay;

-- name: date_diff_of_days
-- world: clinic
SELECT AVG(DATE_DIFF('day', registered, DATE '2024-12-31')) AS days FROM patients;

-- name: hours_between_timestamps
-- world: clinic
SELECT SUM(DATE_DIFF('hour', arrived, TIMESTAMP '2025-01-01 00:00:00')) AS hours FROM visits WHERE ward = 'D';

-- name: epoch_of_a_duration
-- world: clinic
SELECT AVG(EPOCH(arrived) - EPOCH(TIMESTAMP '2022-01-01 00:00:00')) AS seconds FROM visits;

-- name: years_of_age
-- world: clinic
SELECT AVG(2024 - birth_year) AS age, MAX(YEAR(day)) AS y FROM patients p JOIN visits v ON v.patient_id = p.patient_id;

-- name: first_visit_of_each_person
-- world: clinic
SELECT YEAR(first_day) AS y, COUNT(*) AS people FROM (SELECT patient_id, MIN(day) AS first_day FROM visits GROUP BY patient_id) GROUP BY y ORDER BY y;

-- name: days_from_registration_to_the_last_visit
-- world: clinic
SELECT AVG(LEAST(GREATEST(DATE_DIFF('day', p.registered, v.last), -3650), 3650)) AS days
FROM patients p JOIN (SELECT patient_id, MAX(day) AS last FROM visits GROUP BY patient_id) v ON v.patient_id = p.patient_id;

-- name: span_of_a_persons_visits
-- world: clinic
SELECT AVG(LEAST(span, 1100)) AS span FROM (SELECT patient_id, MAX(day) - MIN(day) AS span FROM visits GROUP BY patient_id);

-- name: oldest_and_youngest
-- world: bikes
-- close: 0.5
SELECT MIN(born) AS oldest, MAX(born) AS youngest FROM riders;

-- name: median_age_in_years
-- world: bikes
-- close: 0.03
SELECT tariff, MEDIAN(DATE_DIFF('year', born, DATE '2023-12-31')) AS age FROM riders GROUP BY tariff;

-- name: mean_age_by_a_difference_of_years
-- world: bikes
SELECT AVG(2023 - YEAR(born)) AS age FROM riders WHERE born IS NOT NULL;

-- name: length_of_a_trip_in_minutes
-- world: bikes
SELECT member, AVG(LEAST(DATE_DIFF('minute', started, ended), 240)) AS minutes FROM trips JOIN riders USING (rider_id) GROUP BY member;

-- name: length_of_a_trip_as_an_epoch
-- world: bikes
-- plain: SELECT AVG(LEAST(DATE_DIFF('second', started, ended) / 60.0, 240)) AS minutes FROM trips
SELECT AVG(LEAST(EXTRACT(EPOCH FROM (ended - started)) / 60.0, 240)) AS minutes FROM trips;

-- name: condition_on_an_interval
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE ended - started > INTERVAL 45 MINUTE;

-- name: last_start_by_station
-- world: bikes
-- close: 0.1
SELECT s.name, MAX(t.started) AS last FROM trips t JOIN stations s ON s.station_id = t.from_station WHERE s.station_id <= 3 GROUP BY s.name ORDER BY s.name;

-- name: greatest_of_two_dates
-- world: bikes
-- plain: SELECT COUNT(*) AS n FROM trips JOIN riders USING (rider_id) WHERE GREATEST(CAST(started AS DATE), born) = CAST(started AS DATE)
SELECT COUNT(*) AS n FROM trips JOIN riders USING (rider_id) WHERE GREATEST(CAST(started AS DATE), born) = CAST(started AS DATE);

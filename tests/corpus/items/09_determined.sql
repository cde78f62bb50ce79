-- Item 9: columns that a grouped key of a public table determines.

-- name: title_by_ward
-- world: clinic
-- plain: SELECT w.title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.ward, w.title
SELECT w.title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.ward;

-- name: name_and_key
-- world: clinic
-- plain: SELECT d.drug_id, d.drug, COUNT(*) AS n FROM prescriptions r JOIN drugs d ON d.drug_id = r.drug_id GROUP BY ALL ORDER BY d.drug_id
SELECT d.drug_id, d.drug, COUNT(*) AS n
FROM prescriptions r JOIN drugs d ON d.drug_id = r.drug_id
GROUP BY d.drug_id
ORDER BY d.drug_id;

-- name: several_determined_columns
-- world: clinic
-- plain: SELECT w.title, w.floor, w.beds, SUM(v.nights) AS nights FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY ALL
SELECT w.title, w.floor, w.beds, SUM(v.nights) AS nights FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.ward;

-- name: grouped_by_the_private_side
-- world: clinic
-- plain: SELECT v.ward, w.title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY ALL
SELECT v.ward, w.title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY v.ward;

-- name: with_using
-- world: clinic
-- plain: SELECT title, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY title
SELECT title, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY ward;

-- name: determined_in_an_expression
-- world: clinic
-- plain: SELECT UPPER(w.title) AS title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY ALL
SELECT UPPER(w.title) AS title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.ward;

-- name: determined_beside_an_aggregate
-- world: clinic
-- plain: SELECT w.ward, COUNT(*) * 1.0 / MIN(w.beds) AS per_bed FROM visits v JOIN wards w ON w.ward = v.ward WHERE w.beds > 12 GROUP BY w.ward
SELECT w.ward, COUNT(*) * 1.0 / w.beds AS per_bed FROM visits v JOIN wards w ON w.ward = v.ward WHERE w.beds > 12 GROUP BY w.ward;

-- name: ordered_by_a_determined_column
-- world: clinic
-- plain: SELECT d.drug, SUM(r.days) AS days FROM prescriptions r JOIN drugs d ON r.drug_id = d.drug_id GROUP BY d.drug_id, d.drug, d.price ORDER BY d.price DESC, d.drug
SELECT d.drug, SUM(r.days) AS days
FROM prescriptions r JOIN drugs d ON r.drug_id = d.drug_id
GROUP BY d.drug_id
ORDER BY d.price DESC, d.drug;

-- name: having_of_a_determined_column
-- world: clinic
-- plain: SELECT w.title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward WHERE w.floor < 2 GROUP BY w.title
SELECT w.title, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.ward, w.floor HAVING w.floor < 2;

-- name: key_and_another_group
-- world: shop
-- plain: SELECT p.ProductID, p.ProductName, o.Channel, COUNT(*) AS n FROM Orders o JOIN Products p ON o.ProductID = p.ProductID WHERE p.Category = 'Chairs' GROUP BY ALL ORDER BY 1, 3
SELECT p.ProductID, p.ProductName, o.Channel, COUNT(*) AS n
FROM Orders o JOIN Products p ON o.ProductID = p.ProductID
WHERE p.Category = 'Chairs'
GROUP BY p.ProductID, o.Channel
ORDER BY p.ProductID, o.Channel;

-- name: key_and_the_column_itself
-- world: shop
SELECT p.ProductID, p.ProductName, p.Category, SUM(o.Quantity) AS units
FROM Orders o JOIN Products p ON o.ProductID = p.ProductID
GROUP BY p.ProductID, p.ProductName, p.Category
ORDER BY units DESC
LIMIT 3;

-- name: comma_join
-- world: shop
-- plain: SELECT p.ProductName, COUNT(*) AS n FROM Orders o, Products p WHERE p.ProductID = o.ProductID GROUP BY p.ProductName
SELECT p.ProductName, COUNT(*) AS n FROM Products p, Orders o WHERE p.ProductID = o.ProductID GROUP BY p.ProductID;

-- name: through_a_sub_query
-- world: clinic
-- plain: SELECT t.title, AVG(t.nights) AS nights FROM (SELECT w.ward, w.title, v.nights FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.ward < 'D') t GROUP BY t.title
SELECT t.title, AVG(t.nights) AS nights
FROM (SELECT w.ward, w.title, v.nights FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.ward < 'D') t
GROUP BY t.ward, t.title;

-- name: not_determined
-- world: clinic
-- refused: request
SELECT w.title, w.ward, COUNT(*) FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.floor;

-- name: determined_by_a_person_only
-- world: clinic
-- refused: request
SELECT p.city, COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY p.patient_id;

-- name: name_by_station
-- world: bikes
-- plain: SELECT s.station_id, s.name, s.district, COUNT(*) AS n FROM trips t JOIN stations s ON s.station_id = t.from_station GROUP BY ALL ORDER BY n DESC, s.station_id LIMIT 5
SELECT s.station_id, s.name, s.district, COUNT(*) AS n
FROM trips t JOIN stations s ON s.station_id = t.from_station
GROUP BY s.station_id
ORDER BY n DESC, s.station_id
LIMIT 5;

-- name: two_keys
-- world: bikes
-- plain: SELECT a.name AS origin, b.name AS destination, COUNT(*) AS n FROM trips t JOIN stations a ON a.station_id = t.from_station JOIN stations b ON b.station_id = t.to_station GROUP BY 1, 2
SELECT a.name AS origin, b.name AS destination, COUNT(*) AS n
FROM trips t JOIN stations a ON a.station_id = t.from_station JOIN stations b ON b.station_id = t.to_station
GROUP BY a.station_id, b.station_id;

-- name: only_the_name
-- world: bikes
-- plain: SELECT s.name FROM trips t JOIN stations s ON s.station_id = t.from_station GROUP BY s.name HAVING COUNT(*) >= 10 ORDER BY AVG(t.km) DESC LIMIT 1
SELECT s.name FROM trips t JOIN stations s ON s.station_id = t.from_station GROUP BY s.station_id HAVING COUNT(*) >= 10 ORDER BY AVG(t.km) DESC LIMIT 1;

-- name: determined_date
-- world: bikes
-- plain: SELECT s.name, s.opened, SUM(t.price) AS income FROM stations s JOIN trips t ON t.from_station = s.station_id GROUP BY ALL HAVING SUM(t.price) > 100
SELECT s.name, s.opened, SUM(t.price) AS income FROM stations s JOIN trips t ON t.from_station = s.station_id GROUP BY s.station_id HAVING SUM(t.price) > 100;

-- name: min_and_max_of_a_determined_column
-- world: bikes
SELECT s.station_id, MIN(s.name) AS name, COUNT(*) AS n FROM trips t JOIN stations s ON s.station_id = t.from_station GROUP BY s.station_id;

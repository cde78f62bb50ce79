CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE Student AS
SELECT i AS StuID, 'Last' || i AS LName, 'First' || i AS Fname, 17 + pick(i, 1) % 10 AS Age, ['F', 'M'][1 + pick(i, 2) % 2] AS Sex, [600, 550, 520, 540][1 + pick(i, 3) % 4] AS Major, ['BAL', 'PIT', 'HKG', 'NYC', 'WAS'][1 + pick(i, 4) % 5] AS city_code
FROM range(1, 501) t(i);
CREATE TABLE Has_Pet AS SELECT 1 + pick(i, 5) % 450 AS StuID, i AS PetID FROM range(1, 601) t(i);
CREATE TABLE Pets AS SELECT i AS PetID, ['cat', 'dog', 'bird'][1 + pick(i, 6) % 3] AS PetType, 1 + pick(i, 7) % 12 AS pet_age, CAST(2 + pick(i, 8) % 60 AS DOUBLE) / 2 AS weight FROM range(1, 601) t(i);
CREATE TABLE City AS SELECT * FROM (VALUES ('BAL', 'Baltimore', 'MD', 'USA'), ('PIT', 'Pittsburgh', 'PA', 'USA'), ('HKG', 'Hong Kong', 'HK', 'CHN'), ('NYC', 'New York', 'NY', 'USA'), ('WAS', 'Washington', 'DC', 'USA'), ('LON', 'London', NULL, 'GBR')) t(city_code, city_name, state, country);
CREATE TABLE museum AS SELECT i AS Museum_ID, ['Plaza Museum', 'Capital Plaza Museum', 'Jefferson Museum', 'Willow Museum', 'Place Museum', 'Strip Museum'][i] AS Name, 20 + i * 11 AS Num_of_Staff, 1990 + i * 4 AS Open_Year FROM range(1, 7) t(i);
CREATE TABLE visitor AS SELECT i AS visitor_ID, 'Visitor ' || i AS Name, 1 + pick(i, 9) % 8 AS Level_of_membership, 15 + pick(i, 10) % 70 AS Age FROM range(1, 401) t(i);
CREATE TABLE visit AS
SELECT 1 + (pick(i, 11) % 25) // 5 AS Museum_ID, 1 + pick(i, 12) % 380 AS visitor_ID, 1 + pick(i, 13) % 6 AS Num_of_Ticket, CAST(10 + pick(i, 14) % 400 AS DOUBLE) AS Total_spent FROM range(1400) t(i);
CREATE TABLE employee AS SELECT i AS Employee_ID, 'Name ' || i AS Name, 20 + pick(i, 15) % 45 AS Age, ['Bath', 'Bristol', 'Leeds', 'Sale', 'Wigan'][1 + pick(i, 16) % 5] AS City FROM range(1, 351) t(i);
CREATE TABLE hiring AS SELECT 1 + pick(i, 17) % 8 AS Shop_ID, i AS Employee_ID, CAST(2003 + pick(i, 18) % 15 AS VARCHAR) AS Start_from, pick(i, 19) % 3 > 0 AS Is_full_time FROM range(1, 331) t(i);
CREATE TABLE shop AS SELECT i AS Shop_ID, 'Shop ' || i AS Name, ['North', 'South', 'East'][1 + i % 3] AS District, 500 * i AS Number_products FROM range(1, 10) t(i);

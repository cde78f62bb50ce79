-- Questions as Spider asks them of many small databases, with its aliases T1 and T2.

-- name: how_many_students
-- world: domains
SELECT count(*) FROM Student;

-- name: age_of_students_by_sex
-- world: domains
-- close: 0.05
SELECT avg(age), min(age), max(age), sex FROM Student GROUP BY sex;

-- name: students_with_a_dog
-- world: domains
SELECT count(DISTINCT T1.StuID) FROM Student AS T1 JOIN Has_Pet AS T2 ON T1.StuID = T2.StuID JOIN Pets AS T3 ON T2.PetID = T3.PetID WHERE T3.PetType = 'dog';

-- name: students_without_pets
-- world: domains
SELECT count(*) FROM Student WHERE StuID NOT IN (SELECT StuID FROM Has_Pet);

-- name: weight_by_pet_type
-- world: domains
-- close: 0.05
SELECT max(weight), PetType FROM Pets GROUP BY PetType;

-- name: pets_of_young_women
-- world: domains
SELECT count(*) FROM Student AS T1 JOIN Has_Pet AS T2 ON T1.StuID = T2.StuID JOIN Pets AS T3 ON T2.PetID = T3.PetID WHERE T1.Sex = 'F' AND T1.Age > 20 AND T3.PetType = 'cat';

-- name: types_of_pets
-- world: domains
SELECT count(DISTINCT PetType) FROM Pets;

-- name: students_of_each_city
-- world: domains
-- unordered
-- plain: SELECT T2.city_name, count(*) FROM Student AS T1 JOIN City AS T2 ON T1.city_code = T2.city_code GROUP BY T1.city_code, T2.city_name ORDER BY count(*) DESC
SELECT T2.city_name, count(*) FROM Student AS T1 JOIN City AS T2 ON T1.city_code = T2.city_code GROUP BY T1.city_code ORDER BY count(*) DESC;

-- name: majors_with_many_students
-- world: domains
SELECT Major FROM Student GROUP BY Major HAVING count(*) > 120 ORDER BY Major;

-- name: most_common_major
-- world: domains
SELECT major FROM Student GROUP BY major ORDER BY count(*) DESC LIMIT 1;

-- name: cat_and_dog_owners
-- world: domains
SELECT count(*) FROM (
  SELECT T1.StuID FROM Has_Pet AS T1 JOIN Pets AS T2 ON T1.PetID = T2.PetID WHERE T2.PetType = 'cat'
  INTERSECT
  SELECT T1.StuID FROM Has_Pet AS T1 JOIN Pets AS T2 ON T1.PetID = T2.PetID WHERE T2.PetType = 'dog') AS both_kinds;

-- name: museums_by_visits
-- world: domains
SELECT T2.Name, sum(T1.Num_of_Ticket) FROM visit AS T1 JOIN museum AS T2 ON T1.Museum_ID = T2.Museum_ID GROUP BY T2.Museum_ID, T2.Name ORDER BY T2.Name;

-- name: most_visited_museum
-- world: domains
SELECT T2.Museum_ID, T2.Name FROM museum AS T2 JOIN visit AS T1 ON T2.Museum_ID = T1.Museum_ID GROUP BY T2.Museum_ID, T2.Name ORDER BY count(*) DESC LIMIT 1;

-- name: mean_tickets_of_members
-- world: domains
SELECT avg(T1.Num_of_Ticket), avg(T1.Total_spent) FROM visit AS T1 JOIN visitor AS T2 ON T1.visitor_ID = T2.visitor_ID WHERE T2.Level_of_membership > 4;

-- name: visitors_of_old_museums
-- world: domains
SELECT count(DISTINCT visitor_ID) FROM visit WHERE Museum_ID IN (SELECT Museum_ID FROM museum WHERE Open_Year < 2000);

-- name: museums_with_more_staff_than_average
-- world: domains
SELECT sum(Total_spent) FROM visit AS T1 JOIN museum AS T2 ON T1.Museum_ID = T2.Museum_ID WHERE T2.Num_of_Staff > (SELECT avg(Num_of_Staff) FROM museum);

-- name: employees_of_each_city
-- world: domains
SELECT count(*), city FROM employee GROUP BY city ORDER BY city;

-- name: full_time_by_district
-- world: domains
SELECT T2.District, count(*) FROM hiring AS T1 JOIN shop AS T2 ON T1.Shop_ID = T2.Shop_ID WHERE T1.Is_full_time = 'true' GROUP BY T2.District ORDER BY T2.District;

-- name: districts
-- world: domains
SELECT DISTINCT District FROM shop ORDER BY District;

-- name: hired_after
-- world: domains
SELECT Start_from, count(*) FROM hiring WHERE Start_from > '2009' GROUP BY Start_from ORDER BY Start_from;

-- name: names_by_age
-- world: domains
-- refused: single rows
SELECT Name FROM employee ORDER BY Age;

-- name: oldest_visitor
-- world: domains
-- refused: single rows
SELECT Name, Age FROM visitor ORDER BY Age DESC LIMIT 1;

-- name: cities_of_young_employees_and_old
-- world: domains
SELECT City FROM employee WHERE Age < 30 GROUP BY City HAVING count(*) > 1 ORDER BY City;

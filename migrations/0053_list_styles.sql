-- How a CSV was read; null: with commas, in UTF-8, by the names of its columns.
alter table contact_imports add column delimiter text;
alter table contact_imports add column encoding text;
alter table contact_imports add column profile text;
-- Words of consent besides the known ones: {"yes": […], "no": […]}.
alter table contact_imports add column consent_words jsonb;

-- WhatsApp templates as the provider has them. A family is one name on one business account; each language is a row.

create table template_families (
  company_id bigint not null references companies (id),
  id text not null,
  waba_account_id text not null,
  name text not null,
  created_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint template_families_by_name unique (company_id, waba_account_id, name)
);

create table templates (
  company_id bigint not null,
  family_id text not null,
  language text not null,
  external_id text,
  status text not null check (status in ('APPROVED', 'PENDING', 'REJECTED', 'DISABLED')),
  provider_status text not null, -- the provider's own word
  category text not null,
  parameter_format text not null check (parameter_format in ('POSITIONAL', 'NAMED')),
  components jsonb not null,
  quality_score jsonb,
  rejected_reason text not null default '',
  namespace text,
  partner_id text,
  updated_external boolean not null default false,
  created_by jsonb,
  modified_by jsonb,
  created_at timestamptz not null default now(),
  modified_at timestamptz not null default now(),
  primary key (company_id, family_id, language),
  foreign key (company_id, family_id) references template_families (company_id, id)
);

create index templates_by_external_id on templates (company_id, external_id);

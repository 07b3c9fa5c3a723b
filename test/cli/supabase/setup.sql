-- A database of Supabase: `auth` and `storage` as the migrations of both services leave them, and tables of an application.
-- dump.sql is this database in the plain format of pg_dump 15: pg_dump --no-owner -n auth -n storage -n public -f dump.sql
CREATE SCHEMA auth;
CREATE SCHEMA storage;
GRANT USAGE ON SCHEMA public, auth, storage TO anon, authenticated, service_role;
CREATE TYPE auth.factor_type AS ENUM ('totp', 'webauthn', 'phone');
CREATE TYPE auth.factor_status AS ENUM ('unverified', 'verified');
CREATE TYPE storage.buckettype AS ENUM ('STANDARD', 'ANALYTICS', 'VECTOR');
CREATE TYPE public.mood AS ENUM ('calm', 'it''s loud');
CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.sub', true), ''),
    (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')
  )::uuid;
$$;
CREATE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS $$ select nullif(current_setting('request.jwt.claim.role', true), '')::text; $$;

CREATE TABLE auth.users (
  instance_id uuid, id uuid NOT NULL PRIMARY KEY, aud varchar(255), role varchar(255), email varchar(255), encrypted_password varchar(255),
  email_confirmed_at timestamptz, invited_at timestamptz, confirmation_token varchar(255), confirmation_sent_at timestamptz,
  recovery_token varchar(255), recovery_sent_at timestamptz, email_change_token_new varchar(255), email_change varchar(255),
  email_change_sent_at timestamptz, last_sign_in_at timestamptz, raw_app_meta_data jsonb, raw_user_meta_data jsonb, is_super_admin boolean,
  created_at timestamptz, updated_at timestamptz, phone text DEFAULT NULL::varchar UNIQUE, phone_confirmed_at timestamptz,
  phone_change text DEFAULT ''::varchar, phone_change_token varchar(255) DEFAULT ''::varchar, phone_change_sent_at timestamptz,
  confirmed_at timestamptz GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
  email_change_token_current varchar(255) DEFAULT ''::varchar, email_change_confirm_status smallint DEFAULT 0, banned_until timestamptz,
  reauthentication_token varchar(255) DEFAULT ''::varchar, reauthentication_sent_at timestamptz, is_sso_user boolean DEFAULT false NOT NULL,
  deleted_at timestamptz, is_anonymous boolean DEFAULT false NOT NULL,
  CONSTRAINT users_email_change_confirm_status_check CHECK (email_change_confirm_status >= 0 AND email_change_confirm_status <= 2)
);
CREATE UNIQUE INDEX users_email_partial_key ON auth.users (email) WHERE is_sso_user = false;
CREATE TABLE auth.identities (
  provider_id text NOT NULL, user_id uuid NOT NULL REFERENCES auth.users(id) ON DELETE CASCADE, identity_data jsonb NOT NULL,
  provider text NOT NULL, last_sign_in_at timestamptz, created_at timestamptz, updated_at timestamptz,
  email text GENERATED ALWAYS AS (lower(identity_data ->> 'email')) STORED, id uuid DEFAULT gen_random_uuid() NOT NULL PRIMARY KEY,
  CONSTRAINT identities_provider_id_provider_unique UNIQUE (provider_id, provider)
);
CREATE TABLE auth.mfa_factors (
  id uuid NOT NULL PRIMARY KEY, user_id uuid NOT NULL REFERENCES auth.users(id) ON DELETE CASCADE, friendly_name text,
  factor_type auth.factor_type NOT NULL, status auth.factor_status NOT NULL, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
  secret text, phone text, last_challenged_at timestamptz UNIQUE, web_authn_credential jsonb, web_authn_aaguid uuid
);
CREATE TABLE storage.buckets (
  id text NOT NULL PRIMARY KEY, name text NOT NULL, owner uuid, created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(),
  public boolean DEFAULT false, avif_autodetection boolean DEFAULT false, file_size_limit bigint, allowed_mime_types text[], owner_id text,
  type storage.buckettype DEFAULT 'STANDARD' NOT NULL
);
CREATE TABLE storage.objects (
  id uuid DEFAULT gen_random_uuid() NOT NULL PRIMARY KEY, bucket_id text REFERENCES storage.buckets(id), name text, owner uuid,
  created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(), last_accessed_at timestamptz DEFAULT now(), metadata jsonb,
  path_tokens text[] GENERATED ALWAYS AS (string_to_array(name, '/')) STORED, version text, owner_id text, user_metadata jsonb
);
ALTER TABLE storage.objects ENABLE ROW LEVEL SECURITY;
CREATE POLICY "Avatars can't be secret" ON storage.objects FOR SELECT USING (bucket_id = 'avatars');

INSERT INTO auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data,
  created_at, updated_at, phone, phone_confirmed_at, banned_until, is_anonymous) VALUES
  ('00000000-0000-0000-0000-000000000000', 'a0000000-0000-4000-8000-000000000001', 'authenticated', 'authenticated', 'ada@base.example',
   '$2a$06$oey.RYbjCmQY66yzUduxauDwgKQXSuGZQl8TR37j4eEhsnmYARVK6', '2024-01-02 03:04:05.678901+00', '{"provider": "email", "providers": ["email"], "plan": "pro"}',
   '{"full_name": "Ada \\ \"Tab\"", "theme": "dark"}', '2024-01-02 03:04:05+00', '2024-05-06 07:08:09+00', NULL, NULL, NULL, false),
  ('00000000-0000-0000-0000-000000000000', 'b0000000-0000-4000-8000-000000000002', 'authenticated', 'authenticated', 'bob@base.example',
   '$2a$06$T1rniauPmEh.Bip2xJIEnuBoP91KCjF7keF221CW8KCKcGclAAeha', NULL, '{"provider": "email", "providers": ["email"]}', '{}', '2024-02-02 00:00:00+00', '2024-02-02 00:00:00+00',
   '4915112345678', '2024-02-03 00:00:00+00', NULL, false),
  ('00000000-0000-0000-0000-000000000000', 'e0000000-0000-4000-8000-000000000003', 'authenticated', 'authenticated', 'eve@base.example',
   '$2a$06$kKlaWigK2I/TeJT3108gROJU5Bd3ZOvdLAggjnCJ9Ew/oohVdHqZG', '2024-03-02 00:00:00+00', '{"provider": "email", "providers": ["email", "google"]}', '{"name": "Eve"}',
   '2024-03-02 00:00:00+00', '2024-03-02 00:00:00+00', NULL, NULL, '2020-01-01 00:00:00+00', false);
INSERT INTO auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at, id) VALUES
  ('a0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001',
   '{"sub": "a0000000-0000-4000-8000-000000000001", "email": "ada@base.example"}', 'email', '2024-01-02 03:04:05+00', '2024-01-02 03:04:05+00',
   'a0000000-0000-4000-8000-00000000000a'),
  ('1234567890', 'e0000000-0000-4000-8000-000000000003', '{"sub": "1234567890", "email": "eve@gmail.example"}', 'google',
   '2024-03-02 00:00:00+00', '2024-03-02 00:00:00+00', 'e0000000-0000-4000-8000-00000000000e');
INSERT INTO auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret) VALUES
  ('f0000000-0000-4000-8000-000000000001', 'b0000000-0000-4000-8000-000000000002', 'phone app', 'totp', 'verified', '2024-02-02 00:00:00+00',
   '2024-02-02 00:00:00+00', 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'),
  ('f0000000-0000-4000-8000-000000000002', 'e0000000-0000-4000-8000-000000000003', 'phone app', 'totp', 'verified', '2024-02-02 00:00:00+00',
   '2024-02-02 00:00:00+00', '{"key_id":"k","alg":"aes-gcm-hkdf","data":"AAAA","nonce":"AAAA"}');

CREATE TABLE public.profiles (
  id uuid NOT NULL PRIMARY KEY REFERENCES auth.users(id) ON DELETE CASCADE, nick text UNIQUE, about varchar(500), updated_at timestamptz
);
ALTER TABLE public.profiles ENABLE ROW LEVEL SECURITY;
CREATE POLICY "Everyone reads profiles; it's fine" ON public.profiles FOR SELECT USING (true);
CREATE POLICY "Own profile" ON public.profiles FOR UPDATE TO authenticated USING ((SELECT auth.uid()) = id);
INSERT INTO public.profiles VALUES
  ('a0000000-0000-4000-8000-000000000001', 'ada', E'line one\nline\ttwo \\ end', '2024-01-03 00:00:00+00'),
  ('b0000000-0000-4000-8000-000000000002', 'bob', NULL, NULL);

CREATE TABLE public.lists (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, title text NOT NULL, created_at timestamptz DEFAULT now() NOT NULL);
ALTER TABLE public.lists ENABLE ROW LEVEL SECURITY;
CREATE POLICY "Signed in" ON public.lists FOR SELECT TO authenticated USING (true);
CREATE POLICY "Signed in creates" ON public.lists FOR INSERT TO authenticated WITH CHECK (auth.role() = 'authenticated');
INSERT INTO public.lists VALUES (1, 'House 😀', '2024-01-04 00:00:00+00'), (9007199254740993, 'Large', '2024-01-05 00:00:00+00');

CREATE TABLE public.todos (
  id uuid DEFAULT gen_random_uuid() NOT NULL PRIMARY KEY, user_id uuid NOT NULL REFERENCES auth.users(id) ON DELETE CASCADE,
  list_id bigint REFERENCES public.lists(id) ON DELETE CASCADE, parent uuid REFERENCES public.todos(id) ON DELETE SET NULL,
  task text NOT NULL, "Done?" boolean DEFAULT false NOT NULL, rank integer, weight numeric(30,20), ratio double precision, due date,
  at timestamp, extra jsonb, feeling public.mood, tags text[], marks integer[] DEFAULT '{}'::integer[], twice integer GENERATED ALWAYS AS (rank * 2) STORED,
  created_at timestamptz DEFAULT now() NOT NULL, updated_at timestamptz
);
CREATE INDEX todos_user ON public.todos USING btree (user_id, rank DESC);
CREATE INDEX todos_open ON public.todos (user_id) WHERE NOT "Done?";
CREATE INDEX todos_lower ON public.todos (lower(task));
CREATE INDEX todos_tags ON public.todos USING gin (tags);
ALTER TABLE public.todos ENABLE ROW LEVEL SECURITY;
CREATE POLICY "Own todos" ON public.todos TO authenticated USING (auth.uid() = user_id) WITH CHECK (auth.uid() = user_id);
CREATE POLICY "Calm todos" ON public.todos FOR SELECT TO authenticated USING (auth.uid() = user_id OR feeling = 'calm');
INSERT INTO public.todos (id, user_id, list_id, parent, task, "Done?", rank, weight, ratio, due, at, extra, feeling, tags, marks, created_at, updated_at) VALUES
  ('c0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', 1, NULL, 'Paint', true, 3, 1.50000000000000000001, 0.1,
   '2024-06-01', '2024-06-01 12:00:00', '{"deep": [1, null]}', 'it''s loud', '{plain,"two, \"three\"",""}', '{1,2}', '2024-06-01 00:00:00+02',
   '2024-06-02 00:00:00+00'),
  ('c0000000-0000-4000-8000-000000000002', 'b0000000-0000-4000-8000-000000000002', 9007199254740993, 'c0000000-0000-4000-8000-000000000001',
   'Sweep', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2024-06-03 00:00:00+00', NULL);

CREATE TABLE public.members (
  list_id bigint NOT NULL REFERENCES public.lists(id), user_id uuid NOT NULL REFERENCES auth.users(id), since date, PRIMARY KEY (list_id, user_id)
);
ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;
CREATE POLICY "Admins" ON public.members USING (auth.role() = 'admin');
INSERT INTO public.members VALUES (1, 'a0000000-0000-4000-8000-000000000001', '2024-01-01');
CREATE TABLE public.open (id text NOT NULL PRIMARY KEY, price numeric);
INSERT INTO public.open VALUES ('first', 12.50), ('not an id!', 1), ('much', 'NaN');
CREATE TABLE public.keyless (value text);

GRANT ALL ON TABLE public.profiles, public.lists, public.todos, public.members, public.open, public.keyless, storage.objects, storage.buckets TO anon, authenticated, service_role;
REVOKE SELECT ON TABLE public.profiles FROM anon;

INSERT INTO storage.buckets (id, name, public, file_size_limit, created_at, updated_at) VALUES
  ('avatars', 'avatars', true, NULL, '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00'), ('papers', 'papers', false, 1048576, '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00');
INSERT INTO storage.objects (id, bucket_id, name, owner_id, created_at, updated_at, last_accessed_at, metadata, version) VALUES
  ('d0000000-0000-4000-8000-000000000001', 'avatars', 'a0000000/face.txt', 'a0000000-0000-4000-8000-000000000001', '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00',
   '{"eTag": "\"d5ca322453f2986b752e58b11af83d96\"", "size": 4, "mimetype": "text/plain"}', 'e1000000-0000-4000-8000-000000000001'),
  ('d0000000-0000-4000-8000-000000000002', 'papers', 'lost.txt', NULL, '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00', '{}', NULL);

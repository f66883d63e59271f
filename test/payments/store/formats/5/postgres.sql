SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA bankql;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE bankql.payment (
    id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    caller text NOT NULL,
    payer text NOT NULL,
    state text NOT NULL,
    track_id text NOT NULL,
    request_id text,
    account_id text NOT NULL,
    to_account_id text,
    json text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    lease_until bigint NOT NULL
);
CREATE TABLE bankql.store (
    only_row boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    id text NOT NULL,
    secret text NOT NULL,
    system_identifier text,
    timeline integer,
    standbys_confirm boolean NOT NULL,
    loss text,
    loss_accepted_by text,
    loss_accepted_at timestamp with time zone,
    CONSTRAINT store_only_row_check CHECK (only_row)
);
INSERT INTO bankql.payment VALUES ('3ae1c65634d29f3c92fbdc17c561431246e5a94678096bf2c63c157413dfbbaa', '3d76cb05-e156-4084-af2f-94de19cee722', '9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51', '8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950', 'DONE', '0f116b8b-bd9b-4ba6-91e4-953db094b6f5', NULL, 'done', 'to', '{"id":"3ae1c65634d29f3c92fbdc17c561431246e5a94678096bf2c63c157413dfbbaa","caller":"9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51","payer":"8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950","fingerprint":"4ed1fe6a7e616b0323142c55e50e4ff47537f95cfc6e9b762c26de1714485e94.820e4030a0c4cbe2dfb84123984034f9c0d900da626b9cd84a6945a9d06186ed","state":"DONE","operation":"postMakeTransaction","bankId":"BANK","accountId":"done","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"done","trackId":"0f116b8b-bd9b-4ba6-91e4-953db094b6f5","createdAt":1795947750608,"updatedAt":1795947750608,"leaseUntil":1795947820608,"answer":"{\"id\":\"tx-0f116b8b-bd9b-4ba6-91e4-953db094b6f5\",\"status\":\"COMPLETED\"}","code":null,"status":201,"message":null,"bankText":null,"settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795947750608},{"state":"DONE","at":1795947750608,"status":201}],"awaited":false}', 1795947750608, 1795947750618, 1795947820608);
INSERT INTO bankql.payment VALUES ('2f2ff930eddfe043f9318f4f5bce59b4ad1e9de59e9d1fcc616c8a3e9dc6221d', '1a86ea13-c5d2-44dd-83af-4366d237df0b', '9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51', '8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950', 'DONE', '4bdff015-eb85-42a3-ba54-4a35b3e641f6', NULL, 'requested', 'to', '{"id":"2f2ff930eddfe043f9318f4f5bce59b4ad1e9de59e9d1fcc616c8a3e9dc6221d","caller":"9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51","payer":"8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950","fingerprint":"b06c754a7a7e5b6873664dc409e9304183bcf292bf9903908b6e8aa20a5be057.70cdbfef1340e3758ac375ba400e4edaf4c0f977b71d0244a9d7a5ae548f2154","state":"DONE","operation":"putTransactionsRequestAccount","bankId":"BANK","accountId":"requested","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"requested","trackId":"4bdff015-eb85-42a3-ba54-4a35b3e641f6","createdAt":1795947750631,"updatedAt":1795947750631,"leaseUntil":1795947820631,"answer":"{\"transaction-requests\":[{\"body\":{\"to\":{\"account_id\":\"to\",\"bank_id\":\"TO-BANK\"},\"value\":{\"currency\":\"EUR\",\"amount\":\"12.5\"}},\"status\":\"INITIATED\"}]}","code":null,"status":200,"message":null,"bankText":null,"settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795947750631},{"state":"DONE","at":1795947750631,"status":200}],"awaited":false}', 1795947750631, 1795947750642, 1795947820631);
INSERT INTO bankql.payment VALUES ('90efe04de7133379d88b7583afe156ebfa50bfe890e769a965526e09fa444975', '2c0cc740-db3c-43bd-97b5-0f3d24de8d8c', '9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51', '8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950', 'REJECTED', '8fff88cb-df36-4e97-bef2-9cba95ad9380', NULL, 'rejected', 'to', '{"id":"90efe04de7133379d88b7583afe156ebfa50bfe890e769a965526e09fa444975","caller":"9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51","payer":"8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950","fingerprint":"137657d886240746b5084fae0077d0bbf9eefb8a5c914ae795338c088e43b910.159447390a8a1e34a81a18c108c18bb2b2aa10293f71e0d4f91c5b9f5e2b1184","state":"REJECTED","operation":"postMakeTransaction","bankId":"BANK","accountId":"rejected","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"rejected","trackId":"8fff88cb-df36-4e97-bef2-9cba95ad9380","createdAt":1795947750650,"updatedAt":1795947750650,"leaseUntil":1795947820650,"answer":null,"code":"BANK_REJECTED","status":422,"message":"The bank rejects postMakeTransaction with status 422: Insufficient funds","bankText":"Insufficient funds","settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795947750650},{"state":"REJECTED","at":1795947750650,"status":422,"code":"BANK_REJECTED","bankText":"Insufficient funds"}],"awaited":false}', 1795947750650, 1795947750654, 1795947820650);
INSERT INTO bankql.payment VALUES ('14acc3526ffcaa6ba14f352cf1a14d764d6bd184f2988c8c231e87868eb05a94', 'f1ed1368-28c4-4f58-8738-1b40b21f05e1', '9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51', '8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950', 'UNKNOWN', 'dc294a69-cbc4-45f0-b7c0-3cf6eafe8157', NULL, 'unknown', 'to', '{"id":"14acc3526ffcaa6ba14f352cf1a14d764d6bd184f2988c8c231e87868eb05a94","caller":"9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51","payer":"8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950","fingerprint":"77bf347a4838e6b9178c8ae961b03b69bf2d62baaf0634106bd14d9029a891bd.e0c45f32f4d7ae041b2c1078fdbab0c88ca1c0623ca3ba8ecc25dee4836db630","state":"UNKNOWN","operation":"postMakeTransaction","bankId":"BANK","accountId":"unknown","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"unknown","trackId":"dc294a69-cbc4-45f0-b7c0-3cf6eafe8157","createdAt":1795947750661,"updatedAt":1795947750661,"leaseUntil":1795947820661,"answer":null,"code":"OUTCOME_UNKNOWN","status":500,"message":"The payment was sent, and the bank''s answer (status 500) proves neither that it was executed nor that it was not. It is not sent again under this idempotency key: ask the bank, or its operator, with the Track-ID.","bankText":"down","settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795947750661},{"state":"UNKNOWN","at":1795947750661,"status":500,"code":"OUTCOME_UNKNOWN","bankText":"down"}],"awaited":false}', 1795947750661, 1795947750665, 1795947820661);
INSERT INTO bankql.payment VALUES ('1f2c3f1e1cf82baaf2beeb36540e108c8eaf0fd3ce029ee383c6c115b8e85801', '8bb6c5f8-9fa6-4589-8036-802371b27896', '9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51', '8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950', 'PENDING', '8fa98f92-6027-4258-bdcd-5d34380ed145', NULL, 'pending', 'to', '{"bankId":"BANK","accountId":"pending","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"id":"1f2c3f1e1cf82baaf2beeb36540e108c8eaf0fd3ce029ee383c6c115b8e85801","caller":"9fbd7b4d326743bcbda43f898da8fb81fca7be0fce2ab1a55c403504e3330a51","payer":"8da60cfd6e12f565bce35f7cc445672e1dd95ccdd047265b773b11682c119950","fingerprint":"6823eec3095f3a821ef93b4bf660881a155ac2da63d31ef673ddbf229afce666.49938f8e72a0d9317c4e17216b74fd6b73060836eb38f63fdcb0008127675b26","state":"PENDING","operation":"postMakeTransaction","trackId":"8fa98f92-6027-4258-bdcd-5d34380ed145","requestId":null,"replica":null,"leaseUntil":1795947820671,"createdAt":1795947750671,"updatedAt":1795947750671,"answer":null,"code":null,"status":null,"message":null,"bankText":null,"settledBy":null,"idempotencyKey":"pending","history":[{"state":"PENDING","at":1795947750671}],"awaited":true}', 1795947750672, 1795947750672, 1795947750672);
INSERT INTO bankql.store VALUES (true, 5, '382a93f6-6a2d-49f6-a518-73cf57b076c8', 'e9316714eadaf00da26dd4b125f333fbd90ba48ec4122d21c33c2a3e4a62f64f', '7713536850384564259', 1, false, NULL, NULL, NULL);
ALTER TABLE ONLY bankql.payment
    ADD CONSTRAINT payment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY bankql.store
    ADD CONSTRAINT store_pkey PRIMARY KEY (only_row);
CREATE INDEX payment_by_caller ON bankql.payment USING btree (caller, created_at, id);
CREATE INDEX payment_by_end ON bankql.payment USING btree (updated_at) WHERE (state = ANY (ARRAY['DONE'::text, 'REJECTED'::text]));
CREATE INDEX payment_by_request_id ON bankql.payment USING btree (request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX payment_by_time ON bankql.payment USING btree (created_at, id);
CREATE INDEX payment_by_track_id ON bankql.payment USING btree (track_id);
CREATE INDEX payment_unfinished ON bankql.payment USING btree (created_at, id, state, lease_until) WHERE (state = ANY (ARRAY['PENDING'::text, 'UNKNOWN'::text]));
CREATE INDEX payment_unfinished_by_caller ON bankql.payment USING btree (caller, created_at, id, state) WHERE (state = ANY (ARRAY['PENDING'::text, 'UNKNOWN'::text]));

// What devices and identity providers say at the beginning: by which transports a passkey can be reached (WebAuthn L3 §5.8.4), and until when a session
// may last (SAML core §2.7.2).

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.alterTable('passkeys', (t) => {
    t.text('transports').notNullable().defaultTo('[]');
  }),
  knex.schema.alterTable('sessions', (t) => {
    t.text('ends_by');
  }),
];

/** @type {typeof up} */
export const down = (knex) => [
  knex.raw('alter table sessions drop column ends_by'),
  knex.raw('alter table passkeys drop column transports'),
];

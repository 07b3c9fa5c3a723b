import { z } from 'zod';
import { toWireInstant, wireInstant, wireInstantOrEmpty } from '#src/contract/shapes.js';
import type { PasskeyRow } from './store.js';

const members = { $id: z.string(), $createdAt: wireInstant, name: z.string() } as const;

/** A passkey on the wire, as returned after registration. */
export const passkeyShape = z.object(members).meta({ id: 'Passkey' });

/** The passkeys of a user on the wire. */
export const passkeyListShape = z
  .object({
    total: z.int(),
    passkeys: z.array(
      z
        .object({ ...members, accessedAt: wireInstantOrEmpty.meta({ description: 'The last login by it' }) })
        .meta({ id: 'ListedPasskey' }),
    ),
  })
  .meta({ id: 'PasskeyList' });

/** Renders a passkey for the wire. */
export function toPasskey({ id, createdAt, name }: PasskeyRow): z.input<typeof passkeyShape> {
  return { $id: id, $createdAt: toWireInstant(createdAt), name };
}

/** Renders the passkeys of a user for the wire. */
export function toPasskeyList(rows: readonly PasskeyRow[]): z.input<typeof passkeyListShape> {
  const listed = rows.map((row) => ({ ...toPasskey(row), accessedAt: toWireInstant(row.accessedAt) }));
  return { total: rows.length, passkeys: listed };
}

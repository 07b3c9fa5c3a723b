import { z } from 'zod';
import { emailAddress } from '#src/contract/email-address.js';
import { displayName, newId, phoneNumber, uniqueId } from '#src/contract/shapes.js';
import { type ImportedIdentity, type ImportedUser, labelList, preferences } from '#src/features/index.js';

/** Members of a row of any product. */
export type RowMembers = Readonly<Record<string, unknown>>;

/** A user as a file describes it, not yet validated. Absent members have the values of a new user, or stay as they are in an update. */
export interface UserDraft {
  readonly id?: unknown;
  readonly email?: unknown;
  readonly phone?: unknown;
  readonly name?: unknown;
  readonly emailVerification?: unknown;
  readonly phoneVerification?: unknown;
  readonly status?: unknown;
  readonly mfa?: unknown;
  readonly labels?: unknown;
  readonly prefs?: unknown;
  /** Time of creation: ISO 8601, or milliseconds since 1970. */
  readonly registration?: unknown;
  readonly hash?: ImportedUser['hash'];
  /** Time of the last change of the password, or a later one. */
  readonly passwordUpdate?: unknown;
  readonly totp?: unknown;
  readonly identities?: readonly ImportedIdentity[];
  /** True if only a mark of the user is left in the source. */
  readonly isDeleted?: boolean;
}

const none = (value: unknown) => (value === '' || value === null ? undefined : value);
const optional = <S extends z.ZodType>(schema: S) => z.preprocess(none, schema.optional());
/** CSV files of Postgres have `t` and `f`, those of SQLite 1 and 0, those of spreadsheets `TRUE` and `FALSE`. */
const flag = z.preprocess(
  (value) => none(typeof value === 'string' ? value.toLowerCase() : value),
  z
    .union(
      [z.boolean(), z.enum(['true', 'false', 't', 'f', '1', '0']), z.literal(1), z.literal(0)],
      'must be true or false',
    )
    .transform((value) => [true, 'true', 't', '1', 1].includes(value))
    .optional(),
);
const time = optional(
  z.union([z.string(), z.number()]).transform((value, context) => {
    const found = storedTime(value);
    if (found !== undefined) return found;
    context.addIssue('must be a time such as 2030-01-31T12:00:00Z');
    return z.NEVER;
  }),
);

const text = z.string().min(1).max(512);
const draftShape = z.object({
  id: optional(newId),
  email: optional(emailAddress),
  phone: optional(phoneNumber),
  name: optional(displayName),
  emailVerification: flag,
  phoneVerification: flag,
  status: flag,
  mfa: flag,
  labels: optional(labelList),
  prefs: optional(preferences),
  registration: time,
  passwordUpdate: time,
  totp: optional(z.string().max(256)),
  identities: z.array(z.object({ provider: text, providerUid: text, providerEmail: z.string().max(320) })).default([]),
});

/** Validates a user. Returns the reason if it cannot be imported. */
export function checkedUser({ hash, isDeleted, ...draft }: UserDraft): ImportedUser | string {
  const parsed = draftShape.safeParse(draft);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.') ?? 'The user'} ${issue?.message ?? 'is not valid'}.`;
  }
  const { id = uniqueId, email = null, phone = null, name = '', identities, registration, totp, ...rest } = parsed.data;
  const { emailVerification = false, phoneVerification = false, status, labels, prefs, passwordUpdate } = rest;
  const mfa = rest.mfa ?? (totp === undefined ? undefined : true);
  const has = (member: keyof typeof draft) => draft[member] !== undefined;
  return {
    id,
    identities,
    hash,
    totp,
    ...(has('email') ? { email } : {}),
    ...(has('phone') ? { phone } : {}),
    ...(has('name') ? { name } : {}),
    ...(has('emailVerification') ? { emailVerification: emailVerification && email !== null } : {}),
    ...(has('phoneVerification') ? { phoneVerification: phoneVerification && phone !== null } : {}),
    ...(mfa === undefined ? {} : { mfa }),
    ...(isDeleted === true ? { isDeleted } : {}),
    ...(status === undefined ? {} : { status }),
    ...(labels === undefined ? {} : { labels }),
    ...(prefs === undefined ? {} : { prefs }),
    ...(hash === undefined || passwordUpdate === undefined ? {} : { passwordUpdate }),
    ...(registration === undefined ? {} : { createdAt: registration }),
  };
}

/** A time as the database stores it; undefined for anything else. Accepts the forms of Postgres and of SQLite too. */
export function storedTime(value: unknown): string | undefined {
  if (typeof value === 'string' && !/^\d+$/.test(value)) {
    const [, at = '', offset = 'Z'] =
      /^(.*T[\d:.]+)(Z|[+-]\d\d(?::?\d\d)?)?$/.exec(value.trim().replace(' ', 'T')) ?? [];
    const iso = at + offset.replace(/^(.\d\d):?(\d\d)?$/, (_, hours: string, minutes = '00') => `${hours}:${minutes}`);
    return z.iso.datetime({ offset: true }).safeParse(iso).success ? new Date(iso).toISOString() : undefined;
  }
  const at = new Date(Number(value));
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** The text of a member; undefined if it is empty or no text. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** An object, also as JSON in a text, as in CSV; undefined for anything else. */
export function objectOf(value: unknown): RowMembers | undefined {
  const parsed = parsedOf(value);
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as RowMembers) : undefined;
}

/** The objects of a list, also as JSON in a text; none for anything else. */
export function objectsOf(value: unknown): RowMembers[] {
  const parsed = parsedOf(value);
  return Array.isArray(parsed) ? parsed.map(objectOf).filter((one) => one !== undefined) : [];
}

/** The value of a JSON text; anything else stays. */
export function parsedOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

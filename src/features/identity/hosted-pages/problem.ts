import type { Failure } from '#src/contract/errors.js';
import { isAccountPage, type PageName } from './places.js';
import type { PageTexts } from './texts/en.js';

/** Fields of the forms, by their ids. */
export type FieldId = 'name' | 'email' | 'phone' | 'password' | 'current' | 'code' | 'otp' | 'recovery';

/** A problem that a page shows: beside a field, or above the form. */
export interface Problem {
  readonly field?: FieldId | undefined;
  readonly text: string;
}

/** A form that was refused. */
export interface Refusal {
  readonly failure: Failure;
  /** Kept input. Passwords and codes have to be typed again. */
  readonly typed: KeptInput;
  /** True for the form that takes a recovery code. */
  readonly isRecovery: boolean;
}

/** Input that a refused form shows again. */
export type KeptInput = Readonly<Partial<Record<'name' | 'email' | 'phone', string>>>;

/** Pages that a login at another site returns to. */
const arrivals: readonly PageName[] = ['sign-in', 'failed'];
/** Pages on which a user types a code, and its field. */
const codePages: Readonly<Partial<Record<PageName, FieldId>>> = {
  code: 'code',
  'account-phone-code': 'code',
  'second-factor': 'otp',
  'account-authenticator': 'otp',
};
const typedFields: readonly string[] = ['name', 'email', 'phone', 'password'] satisfies FieldId[];

/** The problem for an error in the address of a page, such as of a login at another site. */
export function problemOfType(name: PageName, type: string, texts: PageTexts): Problem | undefined {
  if (type === '') return undefined;
  if (type === 'user_invalid_token' && arrivals.includes(name)) return { text: texts.login_over };
  // Users enter nothing on the way to this page, so the invalid value is in the application's URL that began the login.
  if (type === 'general_argument_invalid' && name === 'failed') return { text: texts.application_faulty };
  return { text: textOf(type, texts) };
}

/** The problem of a form that was refused, at the field that has to be corrected. */
export function problemOfForm(name: PageName, refusal: Refusal, texts: PageTexts, passwordLength: number): Problem {
  const { type, detail, problems } = refusal.failure;
  if (type === 'user_already_exists' || type === 'user_email_already_exists')
    return { field: 'email', text: texts.user_already_exists };
  if (type === 'user_phone_already_exists') return { field: 'phone', text: texts.user_phone_already_exists };
  if (type === 'user_invalid_credentials' && isAccountPage(name))
    return { field: 'current', text: texts.current_wrong };
  if (type === 'password_policy_violation') {
    const text = textOf(`password_${detail ?? ''}`, texts, texts.password_policy_violation);
    return { field: 'password', text: text.replace('{count}', String(passwordLength)) };
  }
  if (type === 'user_invalid_token' && Object.hasOwn(codePages, name))
    return { field: refusal.isRecovery ? 'recovery' : codePages[name], text: texts.user_invalid_token };
  const [problem] = problems;
  const param = problem !== undefined && 'name' in problem ? problem.name : '';
  if (type === 'general_argument_invalid' && typedFields.includes(param))
    return { field: param as FieldId, text: textOf(`${param}_invalid`, texts) };
  return problemOfType(name, type, texts) ?? { text: texts.failed };
}

function textOf(name: string, texts: PageTexts, otherwise = texts.failed): string {
  return Object.hasOwn(texts, name) ? texts[name as keyof PageTexts] : otherwise;
}

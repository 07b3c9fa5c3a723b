import type { Runtime } from '#src/platform/index.js';
import type { PageName } from './places.js';
import type { FieldId, KeptInput, Problem } from './problem.js';
import type { PageTexts } from './texts/en.js';

/** The fields of a page, in their order, by the placeholders of its template. */
const fieldsOf: Readonly<Partial<Record<PageName, readonly Placeholder[]>>> = {
  'sign-in': ['emailField', 'passwordField'],
  'sign-up': ['nameField', 'emailField', 'newPasswordField'],
  email: ['emailField'],
  phone: ['phoneField'],
  code: ['codeField'],
  'second-factor': ['otpField', 'sentCodeField', 'recoveryField'],
  recovery: ['emailField'],
  reset: ['newPasswordField'],
  'account-name': ['ownNameField'],
  'account-email': ['emailField', 'currentField', 'newPasswordField'],
  'account-phone': ['phoneField', 'currentField'],
  'account-phone-code': ['codeField'],
  'account-password': ['currentField', 'newPasswordField'],
  'account-authenticator': ['otpField'],
};

type Placeholder = keyof typeof kinds;

interface FieldKind {
  readonly id: FieldId;
  /** The name of its input. */
  readonly name: string;
  readonly label: keyof PageTexts;
  /** Attributes of a plain field; a password field has its own template. */
  readonly input?: {
    readonly type: string;
    readonly inputmode: string;
    readonly autocomplete: string;
    readonly maxlength: string;
    readonly required?: string;
  };
  readonly autocomplete?: string;
}

/** The longest secret, which may be pasted with spaces. */
const secretLength = '256';
const code = { type: 'text', inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: secretLength } as const;
/** An input with the keyboard of its type. */
const plain = (type: 'text' | 'email' | 'tel', autocomplete: string, maxlength: string) =>
  ({ type, inputmode: type, autocomplete, maxlength }) as const;
const ownName = plain('text', 'name', '128');
const kinds = {
  nameField: { id: 'name', name: 'name', label: 'name', input: { ...ownName, required: '' } },
  ownNameField: { id: 'name', name: 'name', label: 'nameLabel', input: ownName },
  emailField: { id: 'email', name: 'email', label: 'email', input: plain('email', 'username webauthn', '320') },
  phoneField: { id: 'phone', name: 'phone', label: 'phone', input: plain('tel', 'tel', '40') },
  codeField: { id: 'code', name: 'secret', label: 'code', input: code },
  otpField: { id: 'otp', name: 'otp', label: 'otp', input: code },
  sentCodeField: { id: 'otp', name: 'otp', label: 'code', input: code },
  recoveryField: { id: 'recovery', name: 'otp', label: 'recoveryCode', input: plain('text', 'off', secretLength) },
  currentField: { id: 'current', name: 'current', label: 'currentPassword', autocomplete: 'current-password' },
  passwordField: { id: 'password', name: 'password', label: 'password', autocomplete: 'current-password' },
  newPasswordField: { id: 'password', name: 'password', label: 'newPassword', autocomplete: 'new-password' },
} as const satisfies Readonly<Record<string, FieldKind>>;

/** Values of a page that its fields need. */
interface FieldsOfPage {
  readonly name: PageName;
  readonly texts: PageTexts;
  readonly typed: KeptInput;
  readonly problem: Problem | undefined;
  readonly link: string;
  readonly passwordLength: number;
}

/** Renders the fields of a page as fragments. The focus is on the field with the problem, otherwise on the first empty field, otherwise on the first one. */
export async function renderFields(
  pages: Runtime['pages'],
  { name: page, texts, typed, problem, link, passwordLength }: FieldsOfPage,
): Promise<Record<string, string>> {
  const shown = fieldsOf[page] ?? [];
  const wrong = shown.find((one) => kinds[one].id === problem?.field);
  const empty = shown.find((one) => !Object.hasOwn(typed, kinds[one].name));
  const focused = wrong ?? empty ?? shown[0];
  const rendered = shown.map(async (placeholder) => {
    const { id, name, label, ...kind }: FieldKind = kinds[placeholder];
    const values = {
      id,
      label: texts[label],
      problem: problem?.field === id ? problem.text : '',
      // A page shows one of the fields with the same id.
      focus: focused !== undefined && id === kinds[focused].id ? 'yes' : '',
    };
    const value = Object.hasOwn(typed, name) ? typed[name as keyof KeptInput] : '';
    const html =
      kind.input === undefined
        ? await pages.fragment('fields/password', {
            ...values,
            autocomplete: kind.autocomplete ?? '',
            name,
            forgotten: kind.autocomplete === 'current-password' ? texts.forgotten : '',
            link,
            hint:
              placeholder === 'newPasswordField' ? texts.passwordHint.replace('{count}', String(passwordLength)) : '',
            show: texts.showPassword,
            hide: texts.hidePassword,
          })
        : await pages.fragment('fields/text', { required: 'yes', ...kind.input, ...values, name, value: value ?? '' });
    return [placeholder, html] as const;
  });
  return Object.fromEntries(await Promise.all(rendered));
}

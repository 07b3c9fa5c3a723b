// Every hosted page, as a visitor can meet it.

const error = (type: string) => `&error=${encodeURIComponent(JSON.stringify({ message: '', type, code: 401 }))}`;
const link = '&userId=somebody&secret=something';

/** The pages below `/v1/auth/`, by the names of their pictures. */
export const hostedPages: readonly { readonly name: string; readonly path: string }[] = [
  { name: 'sign-in', path: 'sign-in?project=main' },
  { name: 'sign-in-refused', path: `sign-in?project=main${error('user_invalid_credentials')}` },
  { name: 'sign-up', path: 'sign-up?project=main' },
  { name: 'email', path: 'email?project=main' },
  { name: 'code', path: 'code?project=main&userId=somebody&notice=sent' },
  { name: 'link', path: `link?project=main${link}` },
  { name: 'second-factor', path: 'second-factor?project=main' },
  { name: 'recovery', path: 'recovery?project=main' },
  { name: 'reset', path: `reset?project=main${link}` },
  { name: 'verify', path: `verify?project=main${link}` },
  { name: 'verified', path: 'verified?project=main' },
  { name: 'done', path: 'done?project=main' },
];

import { isSignInWithEmailLink, sendSignInLinkToEmail, signInWithEmailLink } from 'firebase/auth';
import { services } from '../data/firebase.ts';

const STORAGE_KEY = 'kiln.email';

export async function sendLink(email: string): Promise<void> {
  await sendSignInLinkToEmail(services().auth, email, { url: location.href, handleCodeInApp: true });
  localStorage.setItem(STORAGE_KEY, email);
}

export function isReturn(): boolean {
  return isSignInWithEmailLink(services().auth, location.href);
}

/** The address that the link was sent to, when it was asked for in this browser. */
export function rememberedEmail(): string {
  return localStorage.getItem(STORAGE_KEY) ?? '';
}

/** A link works only after this press: mail scanners open links, but they do not press buttons. */
export async function finishLink(email: string): Promise<void> {
  await signInWithEmailLink(services().auth, email, location.href);
  localStorage.removeItem(STORAGE_KEY);
  history.replaceState(null, '', location.pathname);
}

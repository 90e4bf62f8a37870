/** Loaded when somebody presses the button: the pop-up code and its script from Google are not in the first load. */
import { browserPopupRedirectResolver, GoogleAuthProvider, signInWithPopup } from 'firebase/auth';
import { services } from '../data/firebase.ts';

export async function signInWithGoogle(): Promise<void> {
  await signInWithPopup(services().auth, new GoogleAuthProvider(), browserPopupRedirectResolver);
}

import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { definitionsContract } from '../functions/src/testing/definitions-contract.testing.ts';
import { adminAppPackage, firestorePackage } from './functions-packages.ts';

const app = adminAppPackage().initializeApp({ projectId: 'demo-definitions' }, 'definitions');

definitionsContract('Firestore', () => Promise.resolve(new FirestoreStore(firestorePackage().getFirestore(app))));

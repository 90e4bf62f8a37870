import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { storeContract } from '../functions/src/testing/ledger-contract.testing.ts';
import { adminAppPackage, firestorePackage } from './functions-packages.ts';

const app = adminAppPackage().initializeApp({ projectId: 'demo-store-contract' }, 'store-contract');

storeContract('FirestoreStore', () => Promise.resolve(new FirestoreStore(firestorePackage().getFirestore(app))));

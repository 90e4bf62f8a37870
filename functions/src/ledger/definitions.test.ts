import { definitionsContract } from '../testing/definitions-contract.testing.ts';
import { MemoryStore } from './memory-store.ts';

definitionsContract('memory', () => Promise.resolve(new MemoryStore(() => Date.now())));

import fc from 'fast-check';

// Each mutant runs the properties again: a few examples have to do.
fc.configureGlobal({ numRuns: 20 });

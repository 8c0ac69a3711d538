// Prints what the service costs to set up, or what its tests cost.
//   npm run figures -- setup [--root FOLDER]
//   npm run figures -- tests
const [topic] = process.argv.slice(2)
if (topic === 'setup') await import('./figures/setup-figures.ts')
else if (topic === 'tests') await import('./figures/test-figures.ts')
else throw new Error('The figures are: setup, tests')

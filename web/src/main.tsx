import '@fontsource-variable/inter/wght.css';
import './app/mantine.css';
import './app/theme.css';
import './app/base.css';
import { MantineProvider } from '@mantine/core';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { startColorScheme } from './app/color-scheme.ts';
import { router } from './app/router.tsx';
import { theme } from './app/theme.ts';
import { allowGoogleSignInScript } from './app/trusted-types.ts';
import { loadEnvironment } from './data/config.ts';
import { connect } from './data/firebase.ts';
import { SessionProvider } from './data/session.tsx';
import { TextProvider } from './text/text.tsx';

const place = document.getElementById('app');
if (place === null) throw new Error('index.html has no #app');

startColorScheme();
allowGoogleSignInScript();

const root = createRoot(place);
try {
  connect(await loadEnvironment());
  root.render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
        <TextProvider>
          <SessionProvider>
            <RouterProvider router={router} />
          </SessionProvider>
        </TextProvider>
      </MantineProvider>
    </StrictMode>,
  );
} catch (error) {
  // Nothing is loaded yet that could say this more nicely, and no language is known.
  root.render(
    <main className="unstarted" role="alert">
      <h1>Kiln could not start</h1>
      <p>{error instanceof Error ? error.message : String(error)}</p>
    </main>,
  );
}

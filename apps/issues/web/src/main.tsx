import './styles/base.css';
import './styles/controls.css';
import './styles/marks.css';
import './styles/picker.css';
import './styles/shell.css';
import './styles/rail.css';
import './styles/top.css';
import './styles/palette.css';
import './styles/filters.css';
import './styles/issue-list.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './http/queries.ts';
import { router } from './router.tsx';
import { reloadOnNewRelease } from './shell/new-release.ts';
import { startTheme } from './shell/theme.ts';

startTheme();
reloadOnNewRelease();
const root = document.getElementById('root');
if (root === null) throw new Error('The page has no root element.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);

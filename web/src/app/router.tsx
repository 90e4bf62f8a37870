import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { parseRunsSearch } from '../runs/search.ts';
import { AccountLayout } from './account-layout.tsx';
import { AccountChoice } from './account-choice.tsx';
import { MissingPage, Root, StumbledPage } from './root.tsx';

const root = createRootRoute({ component: Root, notFoundComponent: MissingPage, errorComponent: StumbledPage });

const home = createRoute({ getParentRoute: () => root, path: '/', component: AccountChoice });

const account = createRoute({ getParentRoute: () => root, path: '/a/$accountId', component: AccountLayout });

const accountHome = createRoute({
  getParentRoute: () => account,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/a/$accountId/inbox', params });
  },
});

const inbox = createRoute({
  getParentRoute: () => account,
  path: '/inbox',
  component: lazyRouteComponent(() => import('../inbox/inbox-page.tsx'), 'InboxPage'),
});

const approval = createRoute({
  getParentRoute: () => account,
  path: '/approvals/$approvalId',
  component: lazyRouteComponent(() => import('../inbox/approval-page.tsx'), 'ApprovalPage'),
});

const runs = createRoute({
  getParentRoute: () => account,
  path: '/runs',
  validateSearch: parseRunsSearch,
  component: lazyRouteComponent(() => import('../runs/runs-page.tsx'), 'RunsPage'),
});

interface RunSearch {
  readonly step?: string;
  readonly tab?: string;
  readonly failed?: boolean;
}

const runSearch = (search: Record<string, unknown>): RunSearch => ({
  ...(typeof search['step'] === 'string' ? { step: search['step'] } : {}),
  ...(typeof search['tab'] === 'string' ? { tab: search['tab'] } : {}),
  ...(search['failed'] === true ? { failed: true } : {}),
});

const run = createRoute({
  getParentRoute: () => account,
  path: '/runs/$runId',
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import('../run/run-page.tsx'), 'RunPage'),
});

const workflows = createRoute({
  getParentRoute: () => account,
  path: '/workflows',
  component: lazyRouteComponent(() => import('../workflows/workflows-page.tsx'), 'WorkflowsPage'),
});

interface WorkflowSearch {
  readonly tab?: string;
  readonly version?: number;
  readonly against?: number;
}

const workflowSearch = (search: Record<string, unknown>): WorkflowSearch => ({
  ...(typeof search['tab'] === 'string' ? { tab: search['tab'] } : {}),
  ...(typeof search['version'] === 'number' ? { version: search['version'] } : {}),
  ...(typeof search['against'] === 'number' ? { against: search['against'] } : {}),
});

const workflow = createRoute({
  getParentRoute: () => account,
  path: '/workflows/$workflowId',
  validateSearch: workflowSearch,
  component: lazyRouteComponent(() => import('../workflows/workflow-page.tsx'), 'WorkflowPage'),
});

const newWorkflow = createRoute({
  getParentRoute: () => account,
  path: '/workflows/new',
  component: lazyRouteComponent(() => import('../workflows/editor-page.tsx'), 'NewWorkflowPage'),
});

const editWorkflow = createRoute({
  getParentRoute: () => account,
  path: '/workflows/$workflowId/edit',
  component: lazyRouteComponent(() => import('../workflows/editor-page.tsx'), 'EditorPage'),
});

const recipes = createRoute({
  getParentRoute: () => account,
  path: '/recipes',
  component: lazyRouteComponent(() => import('../workflows/recipes-page.tsx'), 'RecipesPage'),
});

const knowledge = createRoute({
  getParentRoute: () => account,
  path: '/knowledge',
  component: lazyRouteComponent(() => import('../workflows/knowledge-page.tsx'), 'KnowledgePage'),
});

const numbers = createRoute({
  getParentRoute: () => account,
  path: '/numbers',
  validateSearch: (search: Record<string, unknown>): { days?: number; workflow?: string } => ({
    ...(typeof search['days'] === 'number' && search['days'] > 0 && search['days'] <= 100 ? { days: search['days'] } : {}),
    ...(typeof search['workflow'] === 'string' ? { workflow: search['workflow'] } : {}),
  }),
  component: lazyRouteComponent(() => import('../numbers/numbers-page.tsx'), 'NumbersPage'),
});

const operations = createRoute({
  getParentRoute: () => account,
  path: '/operations',
  validateSearch: (search: Record<string, unknown>): { tab?: string } => (typeof search['tab'] === 'string' ? { tab: search['tab'] } : {}),
  component: lazyRouteComponent(() => import('../operations/operations-page.tsx'), 'OperationsPage'),
});

/** The addresses in mails and notifications. */
const approvalLink = createRoute({
  getParentRoute: () => root,
  path: '/approvals/$accountId/$approvalId',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/a/$accountId/approvals/$approvalId', params, replace: true });
  },
});

const runLink = createRoute({
  getParentRoute: () => root,
  path: '/runs/$accountId/$runId',
  validateSearch: runSearch,
  beforeLoad: ({ params, search }) => {
    throw redirect({ to: '/a/$accountId/runs/$runId', params, search, replace: true });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    approvalLink,
    runLink,
    account.addChildren([
      accountHome,
      inbox,
      approval,
      runs,
      run,
      workflows,
      newWorkflow,
      workflow,
      editWorkflow,
      recipes,
      knowledge,
      numbers,
      operations,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: StumbledPage,
  defaultNotFoundComponent: MissingPage,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

import { lazy, Suspense, type ComponentProps } from 'react';

/** The form library is loaded when a form is shown. */
const ValueForm = lazy(() => import('./ValueForm'));

export function LazyForm(props: ComponentProps<typeof ValueForm>) {
  return (
    <Suspense fallback={<span className="bone" style={{ width: '60%' }} />}>
      <ValueForm {...props} />
    </Suspense>
  );
}

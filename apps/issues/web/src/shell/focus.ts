const contentId = 'content';

/** The element that had the focus has disappeared, or its whole page has. */
export const isFocusLost = () =>
  document.activeElement === document.body || document.activeElement?.id === contentId;

/**
 * Gives the focus to an element that appears where the one with the focus disappears. Does nothing if the user has gone on
 * elsewhere.
 */
export function focusIfLost(find: () => HTMLElement | null | undefined): void {
  // React shows the element after this call.
  setTimeout(() => {
    if (isFocusLost()) find()?.focus({ preventScroll: true });
  });
}

/** Lets screen readers and the Tab key start at the page, if nothing in it has the focus. */
export function focusPage(): void {
  focusIfLost(() => {
    const content = document.getElementById(contentId);
    // With this attribute, every click on the page gives it the focus.
    content?.setAttribute('tabindex', '-1');
    content?.addEventListener('blur', () => content.removeAttribute('tabindex'), { once: true });
    return content;
  });
}

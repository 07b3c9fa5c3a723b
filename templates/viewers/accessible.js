// Corrects the elements of a viewer that a screen reader or keyboard cannot use. The viewers make and change elements at any time.

/**
 * Applies the corrections to the page now and to what is added or changed later, before the browser draws it. A correction is a selector and a
 * function that gets the element. The element must not match the selector afterwards.
 */
export function keepAccessible(corrections) {
  const any = Object.keys(corrections).join(', ');
  const correct = (element) => {
    for (const [selector, change] of Object.entries(corrections)) if (element.matches(selector)) change(element);
  };
  const correctWithin = (element) => {
    if (element.matches(any)) correct(element);
    for (const inner of element.querySelectorAll(any)) correct(inner);
  };
  const observer = new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === 'attributes') correct(target);
      for (const node of addedNodes) if (node instanceof Element && node.isConnected) correctWithin(node);
    }
  });
  const attributeFilter = ['aria-label', 'aria-selected', 'role'];
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter });
  correctWithin(document.body);
}

/** Correction of an item that is selected although it is not a tab or an option: it is the current one. */
export function selectedIsCurrent(element) {
  if (element.ariaSelected === 'true') element.setAttribute('aria-current', 'true');
  else element.removeAttribute('aria-current');
  element.removeAttribute('aria-selected');
}

/** Correction that removes this attribute. */
export const without = (name) => (element) => element.removeAttribute(name);

/** Correction that sets this attribute. */
export const withValue = (name, value) => (element) => element.setAttribute(name, value);

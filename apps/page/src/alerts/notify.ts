/** What the browser says about notifications; denied where it has none, or leaves them to service workers. */
export function permission(): NotificationPermission {
  return canNotify() ? Notification.permission : 'denied'
}

let isConstructible: boolean | undefined

/**
 * Browsers of phones have a constructor that can only throw. Trying it shows a notification once the visitor has
 * permitted them, so it is tried only before; after that the browser's name has to tell.
 */
function canNotify(): boolean {
  if (!('Notification' in window)) return false
  if (isConstructible === undefined && Notification.permission !== 'granted') {
    try {
      new Notification('').close()
      isConstructible = true
    } catch {
      isConstructible = false
    }
  }
  return isConstructible ?? !/Android|iPhone|iPad/.test(navigator.userAgent)
}

/** Shows a notification if the browser permits it. */
export function notify(title: string, tag: string): void {
  if (permission() !== 'granted') return
  try {
    new Notification(title, { tag, icon: '/icon-192.png' }).onclick = () => window.focus()
  } catch {
    isConstructible = false
  }
}

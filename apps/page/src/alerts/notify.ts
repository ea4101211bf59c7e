/** What the browser says about notifications; denied where it has none, or leaves them to service workers. */
export function permission(): NotificationPermission {
  return canNotify() ? Notification.permission : 'denied'
}

let isConstructible: boolean | undefined

/**
 * Browsers of phones have a constructor that can only throw. It is tried while nothing is permitted, because
 * nothing is shown then; where a phone's browser was given the permission, its name must do.
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

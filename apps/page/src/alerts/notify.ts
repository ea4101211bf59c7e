/** What the browser says about notifications; denied where it has none, or leaves them to service workers. */
export function permission(): NotificationPermission {
  if (!('Notification' in window)) return 'denied'
  if (Notification.permission !== 'default') return Notification.permission
  try {
    // Browsers of phones have a constructor that can only throw. Others show nothing, as nobody has permitted it.
    new Notification('').close()
    return 'default'
  } catch {
    return 'denied'
  }
}

/** Shows a notification if the browser permits it. One with the same tag takes the earlier one's place. */
export function notify(title: string, tag: string): void {
  if (permission() !== 'granted') return
  try {
    new Notification(title, { tag, icon: '/icon-192.png' }).onclick = () => window.focus()
  } catch {
    // A phone on which somebody has permitted it for this site by hand; the title says it.
  }
}

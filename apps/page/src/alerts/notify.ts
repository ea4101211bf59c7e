/** Whether this browser lets a page notify; `none` where it can't, or leaves that to service workers. */
export type Permission = 'granted' | 'denied' | 'default' | 'none'

let isRefused = false

/** What the browser says about notifications. */
export function permission(): Permission {
  return 'Notification' in window && !isRefused ? Notification.permission : 'none'
}

/** Asks for permission to notify, unless the visitor has already given or denied it. */
export async function askPermission(): Promise<Permission> {
  return permission() === 'default' ? Notification.requestPermission() : permission()
}

/** Shows a notification if the browser permits it. */
export function notify(title: string, tag: string): void {
  if (permission() !== 'granted') return
  try {
    new Notification(title, { tag, icon: '/icon-192.png' }).onclick = () => window.focus()
  } catch {
    // Chrome on Android has the constructor, but it throws.
    isRefused = true
  }
}

/** Whether this browser lets a page notify: it may not know how, or leave it to service workers. */
export type Permission = 'granted' | 'denied' | 'default' | 'none'

let isRefused = false

/** What the browser says about notifications. */
export function permission(): Permission {
  return 'Notification' in window && !isRefused ? Notification.permission : 'none'
}

/** Asks for leave to notify, where it was neither given nor refused before. */
export async function askPermission(): Promise<Permission> {
  return permission() === 'default' ? Notification.requestPermission() : permission()
}

/** Shows a notification where the browser offers that to a page. */
export function notify(title: string, tag: string): void {
  if (permission() !== 'granted') return
  try {
    new Notification(title, { tag, icon: '/icon-192.png' }).onclick = () => window.focus()
  } catch {
    // Chrome on Android has the constructor and refuses to run it.
    isRefused = true
  }
}

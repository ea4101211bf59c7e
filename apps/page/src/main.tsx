import { createClient } from '@kimchi/client'
import { render } from 'preact'
import { App } from './app.tsx'
import { createShelf } from './storage.ts'

const root = document.getElementById('app')
if (root) render(<App client={createClient()} shelf={createShelf(() => localStorage)} />, root)

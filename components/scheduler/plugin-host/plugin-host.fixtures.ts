/** Plugins as files, in processes of their own. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent, type Logger } from "../../../pkg/log/log.ts"
import { ProcessHost, type ProcessHostOptions } from "./process-host.ts"

const MAIN = join(import.meta.dirname, "../../../cmd/k3ts/main.ts")
export const COMMAND = [process.execPath, MAIN, "scheduler-plugin-process"]

export function fileOf(text: string, name = "plugin.ts"): string {
  const file = join(mkdtempSync(join(tmpdir(), "k3ts-plugin-")), name)
  writeFileSync(file, text)
  return file
}

/** Loads a plugin whose body is `{ name: "Test", … }`. */
export const loaded = (body: string, options: Partial<ProcessHostOptions> = {}): Promise<ProcessHost> =>
  ProcessHost.load({
    file: fileOf(
      `import { definePlugin } from "k3ts/scheduler"\nlet turn = 0\nexport default definePlugin({ name: "Test",\n${body}\n})\n`,
    ),
    command: COMMAND,
    clock: realClock,
    log: silent,
    ...options,
  })

/** A log that keeps what is written, with its fields. */
export function noting(): { readonly log: Logger; readonly lines: readonly string[] } {
  const lines: string[] = []
  const shown = (_key: string, value: unknown): unknown => (value instanceof Error ? value.message : value)
  const write = (message: string, fields = {}) => void lines.push(`${message} ${JSON.stringify(fields, shown)}`)
  const log = { ...silent, info: write, warn: write, error: write } as unknown as Logger
  return { log, lines }
}

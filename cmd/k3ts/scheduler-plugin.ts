import * as api from "../../pkg/scheduler-plugin/scheduler.ts"
import { runPluginProcess } from "../../pkg/scheduler-plugin/plugin-process.ts"
import { endWithParent } from "../../pkg/runtime/parent-death.ts"
import { provideModule } from "../../pkg/runtime/module-names.ts"

/** Runs one scheduler plugin for a server, which starts this program with the plugin's file. */
export function runPlugin([file = ""]: readonly string[]): Promise<number> {
  endWithParent()
  provideModule("k3ts/scheduler", api)
  return runPluginProcess(file)
}

/** The first argument of the program in which a scheduler plugin runs. */
export const PLUGIN_PROCESS = "scheduler-plugin-process"

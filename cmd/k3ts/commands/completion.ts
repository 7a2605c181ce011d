import { defineCommand } from "../cli/command.ts"
import { UsageError } from "../cli/usage-error.ts"

/**
 * The hidden command of the completion scripts: `k3ts __complete WORD…` prints what may stand in place of the last
 * word, and `:files` where file names may.
 */
export const COMPLETE = "__complete"

/** By shell. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# k3ts completion for bash. Load it with: source <(k3ts completion bash)
_k3ts() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
    else
      COMPREPLY+=("$line")
    fi
  done < <(k3ts ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _k3ts k3ts
`,
  zsh: `#compdef k3ts
# k3ts completion for zsh. Load it with: source <(k3ts completion zsh)
_k3ts() {
  local -a lines words_found
  lines=("\${(@f)$(k3ts ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  words_found=("\${(@)lines:#:files}")
  (( \${#\${(@)words_found:#}} )) && compadd -- "\${(@)words_found:#}"
  (( \${lines[(Ie):files]} )) && _files
}
if [ "$funcstack[1]" = "_k3ts" ]; then _k3ts "$@"; else compdef _k3ts k3ts; fi
`,
  fish: `# k3ts completion for fish. Load it with: k3ts completion fish | source
function __k3ts_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (k3ts ${COMPLETE} $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c k3ts -f -a '(__k3ts_complete)'
`,
}

export default defineCommand({
  summary: "Print a script that completes k3ts' commands and flags in a shell",
  details:
    "bash: source <(k3ts completion bash)\nzsh:  source <(k3ts completion zsh)\nfish: k3ts completion fish | source",
  flags: {},
  positionals: { name: "bash|zsh|fish", min: 1, max: 1, choices: Object.keys(SCRIPTS) },
  run({ args, print }) {
    const script = Object.hasOwn(SCRIPTS, args[0]!) ? SCRIPTS[args[0]!] : undefined
    if (script === undefined)
      throw new UsageError(
        `no completion for the shell ${JSON.stringify(args[0])}: must be ${Object.keys(SCRIPTS).join(", ")}`,
      )
    print(script)
    return Promise.resolve(0)
  },
})

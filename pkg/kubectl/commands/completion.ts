import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { command } from "../command/command.ts"
import { SCRIPTS } from "../completion/scripts.ts"

export const completionCommand = command({
  use: "completion SHELL",
  noFlagsInUse: true,
  short: "Print a script that completes kubectl in a shell (bash, zsh, fish, or powershell)",
  long: `
Print a script that completes kubectl in a shell (bash, zsh, fish, or powershell). The shell must load it, for instance from .bash_profile.

 In zsh, completion needs version 5.2 or later.`,
  example: `
# Complete kubectl in this bash
source <(kubectl completion bash)

# Complete kubectl in every bash
kubectl completion bash > ~/.kube/completion.bash.inc
echo "source '$HOME/.kube/completion.bash.inc'" >> $HOME/.bash_profile

# Complete kubectl in this zsh
source <(kubectl completion zsh)

# Complete kubectl in every zsh
kubectl completion zsh > "\${fpath[1]}/_kubectl"

# Complete kubectl in this fish
kubectl completion fish | source

# Complete kubectl in every fish
kubectl completion fish > ~/.config/fish/completions/kubectl.fish

# Complete kubectl in this powershell
kubectl completion powershell | Out-String | Invoke-Expression`,
  run({ args, usageError, out }) {
    const [shell] = args
    if (shell === undefined) throw usageError("Shell not specified.")
    if (args.length > 1) throw usageError("Too many arguments. Expected only the shell type.")
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
    if (script === undefined) throw usageError(`Unsupported shell type ${goQuoted(shell)}.`)
    return out.write(script)
  },
})

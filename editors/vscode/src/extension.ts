/** turnstone for VS Code: starts the language server and gives its commands a place in the palette. */
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;
let log: vscode.LogOutputChannel;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  log = vscode.window.createOutputChannel("turnstone", { log: true });
  context.subscriptions.push(log);
  const commands: Record<string, () => unknown> = {
    "turnstone.askBox": ask,
    "turnstone.stopTurn": () => run("turnstone.stop"),
    "turnstone.showTranscript": () => run("turnstone.openTranscript"),
    "turnstone.startSession": () => run("turnstone.newSession"),
    "turnstone.chooseMode": chooseMode,
    "turnstone.undo": () => report("turnstone.undoTurn"),
    "turnstone.redo": () => report("turnstone.redoTurn"),
    "turnstone.restart": restart,
    "turnstone.showLog": () => log.show(),
  };
  for (const [name, action] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, action));
  }
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

/** Starts the server; says what to do when it cannot be started. */
async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("turnstone");
  const [command, ...args] = settings.get<string[]>("command", ["turnstone-lsp"]);
  if (command === undefined) {
    void vscode.window.showErrorMessage("turnstone: the setting turnstone.command is empty.");
    return;
  }
  const server: ServerOptions = { command, args };
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
    outputChannel: log,
    initializationOptions: { ...settings.get<object>("settings", {}), trusted: vscode.workspace.isTrusted },
  };
  client = new LanguageClient("turnstone", "turnstone", server, options);
  try {
    await client.start();
  } catch (error) {
    log.error(String(error));
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `turnstone: '${command}' could not be started. Install it (pipx install turnstone-lsp), or set turnstone.command.`,
      "Show log",
    );
    if (choice !== undefined) log.show();
  }
}

async function restart(): Promise<void> {
  await client?.stop();
  await start();
}

/** Runs a command of the server. Errors are shown as the server words them. */
async function run(command: string, argument: object = {}): Promise<unknown> {
  if (client === undefined) {
    void vscode.window.showErrorMessage("turnstone: the server does not run. Run 'turnstone: Restart server'.");
    return undefined;
  }
  try {
    return await client.sendRequest("workspace/executeCommand", { command, arguments: [argument] });
  } catch (error) {
    void vscode.window.showErrorMessage(`turnstone: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Asks about the active editor and its selection. */
async function ask(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const selected = editor !== undefined && !editor.selection.isEmpty;
  const text = await vscode.window.showInputBox({
    title: "Ask turnstone",
    prompt: selected ? "About the selection" : "About this project",
    ignoreFocusOut: true,
  });
  if (text === undefined || text.trim() === "" || client === undefined) return;
  const where = editor && {
    uri: client.code2ProtocolConverter.asUri(editor.document.uri),
    ...(selected ? { range: client.code2ProtocolConverter.asRange(editor.selection) } : {}),
  };
  await run("turnstone.ask", { text, ...where });
}

async function chooseMode(): Promise<void> {
  const modes = [
    { label: "ask", detail: "Confirm every call that has an effect" },
    { label: "edit", detail: "File edits inside the workspace run without a question" },
    { label: "plan", detail: "Read only" },
    { label: "auto", detail: "Everything that no rule or guard holds back" },
  ];
  const chosen = await vscode.window.showQuickPick(modes, { title: "turnstone mode" });
  if (chosen !== undefined) await run("turnstone.setMode", { mode: chosen.label });
}

async function report(command: string): Promise<void> {
  const text = await run(command);
  if (typeof text === "string") void vscode.window.showInformationMessage(`turnstone: ${text}`);
}

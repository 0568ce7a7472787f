#include "reports/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void figure_string(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("''", out);
        else
            fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
    fputc('\'', out);
}

void figure_begin(FILE *out, const char *name, const char *title, const char *x, const char *y)
{
    fprintf(out,
            "set terminal svg size 1000,580 dynamic noenhanced font 'DejaVu Sans,14' "
            "background '#ffffff'\n"
            "set output '%s.svg'\n"
            "set encoding utf8\n"
            "set key outside right top Left reverse samplen 2 font ',13'\n"
            "set grid lc rgb '#dddddd' lw 1\n"
            "set border 3 lc rgb '#555555'\n"
            "set tics nomirror textcolor rgb '#333333'\n",
            name);
    fputs("set title ", out);
    figure_string(out, title);
    fputs("\nset xlabel ", out);
    figure_string(out, x);
    fputs("\nset ylabel ", out);
    figure_string(out, y);
    fputc('\n', out);
}

void figure_tics(FILE *out, char axis)
{
    fprintf(out, "set %ctics (", axis);
    for (int exponent = -4; exponent <= 9; exponent++)
        fprintf(out, "%s'%g' 1e%d, '%g' 2e%d, '%g' 5e%d", exponent > -4 ? ", " : "",
                pow(10, exponent), exponent, 2 * pow(10, exponent), exponent, 5 * pow(10, exponent),
                exponent);
    fputs(")\n", out);
}

const char *figure_colour(int kernel)
{
    static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#7f3c8d", "#8c564b",
                                          "#3f6b00", "#b2182b", "#444444", "#00708a"};
    return colours[kernel % (int)(sizeof colours / sizeof colours[0])];
}

int figure_marker(int kernel)
{
    static const int markers[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12, 1, 2};
    return markers[(kernel + kernel / 12) % (int)(sizeof markers / sizeof markers[0])];
}

FILE *figure_add(report_figures *figures, report_topic topic, const char *name)
{
    report_figure *items = realloc(figures->items, (figures->count + 1) * sizeof *items);
    if (items == NULL)
        return NULL;
    figures->items = items;
    report_figure *figure = &items[figures->count++];
    *figure = (report_figure){.topic = topic};
    snprintf(figure->name, sizeof figure->name, "%s", name);
    return open_memstream(&figure->script, &figure->script_size);
}

char *figure_caption(report_figures *figures)
{
    return figures->items[figures->count - 1].caption;
}

bool figure_plain(const char *text)
{
    return *text != '\0' && strlen(text) < 16 &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0';
}

int figure_by_x(const void *a, const void *b)
{
    double x = ((const figure_point *)a)->x, y = ((const figure_point *)b)->x;
    return (x > y) - (x < y);
}

void figure_block(FILE *out, int index, const figure_point *points, size_t count)
{
    fprintf(out, "$k%d << EOD\n", index);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%.17g %.17g %.17g\n", points[i].x, points[i].y, points[i].bound);
    fputs("EOD\n", out);
}
